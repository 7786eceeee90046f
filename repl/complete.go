package repl

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/parser"
	"github.com/streamsql/streamsql/parser/tree"
)

// completer offers keywords, functions, tables, columns, settings, options and jobs.
type completer struct{ sh *shell }

// Do implements readline.AutoCompleter: what may follow the word before pos.
func (c *completer) Do(line []rune, pos int) ([][]rune, int) {
	text := string(line[:pos])
	if first := strings.TrimLeft(text, " \t"); strings.HasPrefix(first, `\`) && !strings.Contains(first, " ") {
		var names []string
		for _, m := range commands() {
			names = append(names, m.name)
		}
		return suffixes(first, names, false)
	}
	if strings.Count(text, `"`)%2 == 1 {
		return suffixes(text[strings.LastIndexByte(text, '"')+1:], c.quoted(), false)
	}
	start := strings.LastIndexAny(text, " \t(),;=<>'\"") + 1
	word := text[start:]
	if word == "" {
		return nil, 0
	}
	before := words(c.sh.pending + text[:start])
	names, fold := c.candidates(before)
	if i := strings.LastIndexByte(word, '.'); i >= 0 && fold {
		names, word = c.columnsOf(word[:i]), word[i+1:]
	}
	return suffixes(word, names, fold)
}

// words gives the words of the statement that text ends in, in upper case.
func words(text string) []string {
	if i := strings.LastIndexByte(text, ';'); i >= 0 {
		text = text[i+1:]
	}
	return strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return strings.ContainsRune(" \t\n(),='\"", r) })
}

// candidates gives what may stand after the words before; fold says that their case
// does not matter, and that a dot parts a table from its column.
func (c *completer) candidates(before []string) (names []string, fold bool) {
	last := ""
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	snap := c.sh.session.Catalog()
	switch last {
	case "SET", "RESET":
		for _, s := range engine.Settings() {
			names = append(names, s.Name)
		}
		return names, false
	case "FROM", "JOIN", "INTO", "TABLE", "VIEW", "DESCRIBE", `\D`:
		return append(objects(snap), "TABLE", "TUMBLE", "HOP"), true
	case "JOB":
		for _, j := range c.sh.Engine.Jobs() {
			name := j.Name
			if quoteName(name) != name {
				name = tree.QuoteString(name)
			}
			names = append(names, name)
		}
		return names, false
	}
	for _, b := range before {
		if b == "WITH" && before[0] == "CREATE" {
			return c.options(), false
		}
	}
	names = append(parser.Keywords(), objects(snap)...)
	for _, f := range expr.Functions() {
		names = append(names, f.Name)
	}
	for _, f := range agg.Functions() {
		names = append(names, f.Name)
	}
	for _, t := range snap.Tables() {
		names = append(names, columns(t)...)
	}
	return names, true
}

// options gives the names of connectors and of their options.
func (c *completer) options() []string {
	names := []string{"connector", "format"}
	for _, conn := range c.sh.Engine.ListConnectors() {
		names = append(names, conn.Name)
		for _, o := range conn.Options {
			names = append(names, o.Name)
		}
	}
	return names
}

// quoted gives the names of tables, views and columns as they stand in double quotes,
// with the one that ends them.
func (c *completer) quoted() []string {
	snap := c.sh.session.Catalog()
	names := snap.Names()
	for _, t := range snap.Tables() {
		for _, col := range t.Columns {
			names = append(names, col.Name)
		}
	}
	for i, n := range names {
		names[i] = strings.ReplaceAll(n, `"`, `""`) + `"`
	}
	return names
}

// columnsOf gives the columns of a table; of every table when it is none's name, as an
// alias is.
func (c *completer) columnsOf(table string) []string {
	snap := c.sh.session.Catalog()
	if t, _ := snap.Find(table, false); t != nil {
		return columns(t)
	}
	var names []string
	for _, t := range snap.Tables() {
		names = append(names, columns(t)...)
	}
	return names
}

func objects(snap *catalog.Snapshot) []string {
	var names []string
	for _, n := range snap.Names() {
		names = append(names, quoteName(n))
	}
	return names
}

func columns(t *catalog.Table) []string {
	var names []string
	for _, col := range t.Columns {
		names = append(names, quoteName(col.Name))
	}
	return names
}

// quoteName spells a name so that it is found again.
func quoteName(n string) string {
	plain := n != "" && !strings.ContainsFunc(n, func(r rune) bool { return r != '_' && !unicode.IsLower(r) && !unicode.IsDigit(r) })
	if first, _ := utf8.DecodeRuneInString(n); !plain || unicode.IsDigit(first) {
		return tree.QuoteIdent(n)
	}
	if st, err := parser.ParseOne("SELECT 1 FROM " + n); err != nil || st == nil {
		return tree.QuoteIdent(n)
	}
	return n
}

// suffixes gives the rests of the names that begin with word; with fold, without
// regard to case, and in the case that word is typed in where a name has but one.
func suffixes(word string, names []string, fold bool) ([][]rune, int) {
	sort.Strings(names)
	lower, upper := word == strings.ToLower(word), word == strings.ToUpper(word)
	var out [][]rune
	seen := make(map[string]bool)
	for _, n := range names {
		if len(n) < len(word) || n[:len(word)] != word && !(fold && strings.EqualFold(n[:len(word)], word)) {
			continue
		}
		rest := n[len(word):]
		switch {
		case !fold:
		case lower && n == strings.ToUpper(n):
			rest = strings.ToLower(rest)
		case upper && n == strings.ToLower(n):
			rest = strings.ToUpper(rest)
		}
		if !seen[rest] {
			seen[rest] = true
			out = append(out, []rune(rest+" "))
		}
	}
	return out, utf8.RuneCountInString(word)
}
