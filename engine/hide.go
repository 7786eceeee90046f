package engine

import (
	"regexp"
	"slices"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/parser"
)

// unresolved is an option whose value is elsewhere: its name may be shown.
var unresolved = regexp.MustCompile(`^\$\{[^}]*\}$`)

// hideSecrets gives the CREATE statement of t without the values of its secret options:
// every token that reads like one is replaced.
func (e *Engine) hideSecrets(t *catalog.Table) string {
	name, _ := t.Option("connector")
	conn, _ := e.connector(nil)(name.Value)
	var secrets []string
	for _, o := range t.Options {
		if conn.Secret(o.Key) && !unresolved.MatchString(o.Value) {
			secrets = append(secrets, o.Value)
		}
	}
	sql := t.SQL
	tokens := parser.Tokens(t.SQL)
	for _, tok := range slices.Backward(tokens) {
		if slices.Contains(secrets, tok.Text) {
			sql = sql[:tok.Pos-1] + "'***'" + sql[tok.End-1:]
		}
	}
	return sql
}
