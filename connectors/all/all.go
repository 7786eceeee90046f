// Package all is the list of connectors. Adding one is a line here.
package all

import (
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/console"
	"github.com/streamsql/streamsql/connectors/file"
	"github.com/streamsql/streamsql/connectors/generator"
	"github.com/streamsql/streamsql/connectors/nats"
	"github.com/streamsql/streamsql/connectors/postgres"
)

// List gives the connectors by name.
func List() []connectors.Connector {
	return []connectors.Connector{
		console.Blackhole(),
		console.Connector(),
		file.Connector(),
		generator.Connector(),
		nats.Connector,
		postgres.Connector(),
	}
}

// Find looks a connector up by name.
func Find(name string) (connectors.Connector, bool) {
	for _, c := range List() {
		if c.Name == name {
			return c, true
		}
	}
	return connectors.Connector{}, false
}
