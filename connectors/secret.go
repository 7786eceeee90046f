package connectors

import (
	"slices"
	"strings"
)

// Secret reports that the value of an option, by its name or an alias, is never shown.
func (c Connector) Secret(key string) bool {
	for _, o := range c.Options {
		if o.Name == key || slices.Contains(o.Aliases, key) || o.Prefix && strings.HasPrefix(key, o.Name) {
			return o.Type == OptSecret
		}
	}
	return false
}
