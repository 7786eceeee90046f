package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// inURL finds a password in a URL or in libpq's keywords.
var inURL = regexp.MustCompile(`(?i)://[^/@\s]*:[^/@\s]+@|\bpassword\s*=\s*[^\s]`)

// refuseSecrets refuses a job whose declarations hold a secret as it is: the text and
// the plan are stored in every checkpoint, and a secret must be in none.
func (e *Engine) refuseSecrets(spec jobSpec) error {
	for _, t := range spec.snap.Tables() {
		name, _ := t.Option("connector")
		c, ok := e.connector(nil)(name.Value)
		if !ok {
			continue
		}
		for _, o := range t.Options {
			if strings.Contains(o.Value, "${") || !(inURL.MatchString(o.Value) || isSecret(c, o.Key)) {
				continue
			}
			pos := o.ValuePos
			if t.Source != spec.src {
				pos = 0
			}
			return sqlerr.New(sqlerr.CodeOption, pos, "option %q of table %q holds a secret as it is, and would be stored in every checkpoint", o.Key, t.Name).
				WithHint("Write '${NAME}' in its place, and give the value with --var NAME=… or in the environment.")
		}
	}
	return nil
}

// isSecret reports an option that is nothing but a secret; a url may hold one.
func isSecret(c connectors.Connector, key string) bool {
	for _, o := range c.Options {
		if o.Name == "url" && slices.Contains(o.Aliases, key) {
			return false
		}
	}
	return key != "url" && c.Secret(key)
}
