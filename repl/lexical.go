package repl

import (
	"regexp"
	"strings"

	"github.com/streamsql/streamsql/parser"
)

var variable = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)

// lexical gives a text of the same length in which each ${NAME} is a word: the lexer
// sees a text only after they were replaced.
func lexical(text string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string { return strings.Repeat("x", len(v)) })
}

// incomplete reports that more must follow before text can run.
func incomplete(text string) bool { return parser.Incomplete(lexical(text)) }

// split cuts text into its statements. An error that keeps it from being cut further is
// found when the last is parsed.
func split(text string) []parser.Piece {
	pieces, _ := parser.Split(lexical(text))
	for i, p := range pieces {
		pieces[i].Text = text[p.Pos-1:][:len(p.Text)]
	}
	return pieces
}

// historyEntries gives a statement as one line, without its comments; as the lines
// typed when a string or name goes over several.
func historyEntries(text string) []string {
	var out strings.Builder
	end := 1
	for _, tok := range parser.Tokens(lexical(text)) {
		word := tok.Span.Text(text)
		if strings.Contains(word, "\n") {
			return strings.Split(strings.TrimSpace(text), "\n")
		}
		if out.Len() > 0 && int(tok.Pos) > end {
			out.WriteByte(' ')
		}
		out.WriteString(word)
		end = int(tok.End)
	}
	if out.Len() == 0 {
		return nil
	}
	return []string{out.String()}
}
