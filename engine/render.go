package engine

import (
	"regexp"
	"strings"

	"github.com/streamsql/streamsql/connectors/all"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
)

// secretName finds names of secrets that no connector has, such as misspelled ones.
var secretName = regexp.MustCompile(`(?i)pas+w|pwd|token|secret`)

// anyVariables finds the variables in a value.
var anyVariables = regexp.MustCompile(`\$\{[^}]*\}`)

// Render writes err as sqlerr.Render does, with asterisks for what src gives as the
// value of a secret option and for URLs with passwords.
func Render(err error, src string) string {
	src = strings.ToValidUTF8(src, "?")
	shown := []byte(src)
	var secrets []string
	hide := func(from, to int) {
		secrets = append(secrets, src[from:to])
		for i := from; i < to; i++ {
			if src[i] != '\n' && src[i] != '\'' {
				shown[i] = '*'
			}
		}
	}
	tokens := parser.Tokens(src)
	end := 0
	for i, t := range tokens {
		end = int(t.End) - 1
		if t.Kind != parser.TokenOperator && isSecretValue(optionOf(tokens[:i]), t.Text) {
			hide(int(t.Pos)-1, end)
		}
	}
	// A string that stays open is no token.
	if open := strings.IndexByte(src[end:], '\''); open >= 0 && isSecretValue(optionOf(tokens), src[end:]) {
		hide(end+open, len(src))
	}
	out := sqlerr.Render(err, string(shown))
	for _, s := range secrets {
		out = strings.ReplaceAll(out, `"`+s+`"`, `"'***'"`)
	}
	return out
}

// optionOf gives the name of the option whose value follows tokens: 'name' = or a.b =,
// also without the sign; "" for none.
func optionOf(tokens []parser.Token) string {
	is := func(i int, op string) bool {
		return i >= 0 && tokens[i].Kind == parser.TokenOperator && tokens[i].Text == op
	}
	i := len(tokens) - 1
	if is(i, "=") {
		i--
	}
	if i < 0 || tokens[i].Kind == parser.TokenOperator {
		return ""
	}
	name := tokens[i].Text
	for ; i >= 2 && is(i-1, "."); i -= 2 {
		name = tokens[i-2].Text + "." + name
	}
	return name
}

// isSecretValue judges the text of a value by what it is and the option it is given to.
// Names of variables may be shown.
func isSecretValue(option, text string) bool {
	text = anyVariables.ReplaceAllString(text, "")
	if text == "" {
		return false
	}
	if secretName.MatchString(option) || inURL.MatchString(text) {
		return true
	}
	for _, c := range all.List() {
		if isSecret(c, option) {
			return true
		}
	}
	return false
}
