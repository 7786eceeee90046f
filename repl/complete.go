package repl

import (
	"sort"
	"strings"

	"github.com/streamsql/streamsql/connectors/all"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/parser"
)

// completer offers keywords, functions, tables, columns, settings and options.
type completer struct{ sh *shell }

// Do implements readline.AutoCompleter: what may follow the word before pos.
func (c *completer) Do(line []rune, pos int) ([][]rune, int) {
	text := string(line[:pos])
	start := strings.LastIndexAny(text, " \t(),;=<>'") + 1
	word := text[start:]
	if strings.HasPrefix(text, `\`) && start == 0 {
		var names []string
		for _, m := range commands() {
			names = append(names, m.name)
		}
		return suffixes(word, names, false)
	}
	if word == "" {
		return nil, 0
	}
	before := strings.Fields(strings.ToUpper(text[:start]))
	names, fold := c.candidates(before)
	return suffixes(word, names, fold)
}

func (c *completer) candidates(before []string) (names []string, fold bool) {
	last := ""
	if len(before) > 0 {
		last = strings.TrimRight(before[len(before)-1], "(")
	}
	snap := c.sh.session.Catalog()
	switch last {
	case "SET", "RESET", "SET'":
		for _, s := range engine.Settings() {
			names = append(names, s.Name)
		}
		return names, false
	case "FROM", "JOIN", "INTO", "TABLE", "DESCRIBE", "VIEW", `\D`:
		for _, n := range snap.Names() {
			names = append(names, quoteName(n))
		}
		return append(names, "TABLE", "TUMBLE", "HOP"), true
	case "JOB":
		for _, j := range c.sh.Engine.Jobs() {
			names = append(names, j.Name)
		}
		return names, false
	}
	names = append(names, parser.Keywords()...)
	for _, f := range expr.Functions() {
		names = append(names, f.Name)
	}
	for _, f := range expr.Aggregates() {
		names = append(names, f.Name)
	}
	for _, n := range snap.Names() {
		names = append(names, quoteName(n))
	}
	for _, t := range snap.Tables() {
		for _, col := range t.Columns {
			names = append(names, quoteName(col.Name))
		}
	}
	for _, b := range before {
		if b != "WITH" && b != "WITH(" {
			continue
		}
		for _, conn := range all.List() {
			names = append(names, conn.Name)
			for _, o := range conn.Options {
				names = append(names, o.Name)
			}
		}
		break
	}
	return names, true
}

// suffixes gives the rests of the names that begin with word; with fold, without
// regard to case, in the case that word is typed in.
func suffixes(word string, names []string, fold bool) ([][]rune, int) {
	sort.Strings(names)
	lower := word == strings.ToLower(word)
	var out [][]rune
	seen := make(map[string]bool)
	for _, n := range names {
		if len(n) <= len(word) && n != word {
			continue
		}
		if !strings.HasPrefix(n, word) && !(fold && strings.HasPrefix(strings.ToLower(n), strings.ToLower(word))) {
			continue
		}
		rest := n[len(word):]
		if fold && lower && strings.ToUpper(n) == n {
			rest = strings.ToLower(rest)
		}
		if !seen[rest] {
			seen[rest] = true
			out = append(out, []rune(rest+" "))
		}
	}
	return out, len([]rune(word))
}
