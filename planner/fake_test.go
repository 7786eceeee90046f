package planner_test

import (
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner"
)

// fakes are connectors with the options and capabilities of the real ones and nothing
// behind them.
var fakes = []connectors.Connector{
	{
		Name: "nats",
		Options: []connectors.Option{
			{Name: "url", Aliases: []string{"servers"}, Type: connectors.OptSecret},
			{Name: "stream", Type: connectors.OptString, Doc: "name of the stream"},
			{Name: "subject", Type: connectors.OptString},
			{Name: "start", Type: connectors.OptString, Default: "earliest"},
			{Name: "end", Type: connectors.OptString},
			{Name: "on.gap", Type: connectors.OptEnum, Enum: []string{"fail", "warn"}, Default: "fail"},
			{Name: "delivery", Type: connectors.OptEnum, Enum: []string{"at-least-once", "exactly-once"}, Default: "at-least-once"},
			{Name: "rows.per.message", Type: connectors.OptInt, Default: "1"},
			{Name: "auth.", Prefix: true, Type: connectors.OptSecret},
		},
		Metadata: []connectors.Metadata{
			{Name: "subject", Type: types.TText},
			{Name: "sequence", Type: types.TBigInt},
			{Name: "timestamp", Type: types.TTimestampTZ(6)},
		},
		Capabilities: func(o map[string]string, _ bool) (connectors.Capabilities, error) {
			if o["stream"] == "" && o["subject"] == "" {
				return connectors.Capabilities{}, sqlerr.New(sqlerr.CodeOption, 0, `connector "nats" needs "stream" or "subject"`)
			}
			c := connectors.Capabilities{CanRead: true, CanWrite: true, Splits: 1, Replayable: true, Bounded: o["end"] != ""}
			c.Commit = o["delivery"] == "exactly-once"
			c.ForceCommit, c.Early, c.ForceEarly = c.Commit, !c.Commit, !c.Commit
			return c, nil
		},
	},
	{
		Name: "generator",
		Options: []connectors.Option{
			{Name: "kind", Type: connectors.OptEnum, Enum: []string{"nexmark", "columns"}, Required: true, Doc: "what is generated"},
			{Name: "rows", Type: connectors.OptInt},
			{Name: "nexmark.event", Type: connectors.OptEnum, Enum: []string{"person", "auction", "bid"}},
		},
		Capabilities: func(o map[string]string, _ bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanRead: true, Bounded: o["rows"] != "", SelfDecoding: true, Replayable: true}, nil
		},
	},
	{
		Name: "postgres",
		Options: []connectors.Option{
			{Name: "url", Type: connectors.OptSecret},
			{Name: "table", Aliases: []string{"table-name"}, Type: connectors.OptString},
			{Name: "mode", Type: connectors.OptEnum, Enum: []string{"upsert", "wal", "append"}},
			{Name: "batch.rows", Type: connectors.OptInt, Default: "10000"},
			{Name: "auto.create", Type: connectors.OptBool, Default: "false"},
		},
		Capabilities: func(o map[string]string, hasKey bool) (connectors.Capabilities, error) {
			c := connectors.Capabilities{CanWrite: true, Commit: true, SelfDecoding: true}
			switch {
			case o["mode"] == "wal":
				c.Upserts, c.ForceCommit = hasKey, true
			case hasKey:
				c.Upserts, c.Early, c.Idempotent, c.NeedsKey = true, true, true, true
			default:
				c.ForceCommit = true
			}
			return c, nil
		},
	},
	{
		Name: "file",
		Options: []connectors.Option{
			{Name: "path", Type: connectors.OptString, Required: true, Doc: "a file or directory"},
			{Name: "follow", Type: connectors.OptBool, Default: "false"},
			{Name: "roll.interval", Type: connectors.OptDuration, Default: "1m"},
		},
		Capabilities: func(o map[string]string, _ bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanRead: true, CanWrite: true, Replayable: true, Bounded: o["follow"] != "true", Commit: true}, nil
		},
	},
	{
		Name: "console",
		Options: []connectors.Option{
			{Name: "format", Type: connectors.OptEnum, Enum: []string{"table", "csv", "json", "changelog"}},
		},
		Capabilities: func(map[string]string, bool) (connectors.Capabilities, error) {
			return connectors.Capabilities{CanWrite: true, Changelog: true, Early: true, Transient: true}, nil
		},
	},
}

func fake(name string) (connectors.Connector, bool) {
	for _, c := range fakes {
		if c.Name == name {
			return c, true
		}
	}
	return connectors.Connector{}, false
}

func testOptions() planner.Options {
	o := planner.Options{Connectors: fake, Settings: map[string]string{}, Formats: format.List()}
	for _, c := range fakes {
		o.ConnectorNames = append(o.ConnectorNames, c.Name)
	}
	return o
}
