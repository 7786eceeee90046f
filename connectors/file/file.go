// Package file connects tables to files: JSON lines, CSV and raw lines are read by
// offset, once or while they grow, and written as part files that become visible when
// their checkpoint completes.
package file

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

const (
	metaPath   = "path"
	metaOffset = "offset"
)

// Connector gives the descriptor of the connector "file".
func Connector() connectors.Connector {
	return connectors.Connector{
		Name: "file",
		Doc:  "Files of lines or CSV records, read once or while they grow, and written as part files that are visible when their checkpoint completes",
		Options: []connectors.Option{
			{Name: "path", Type: connectors.OptString, Required: true, Doc: "source: a file, a directory, or a pattern such as logs/*.json; a pattern, or a directory with a slash at its end, is read as one split for each file, anything else as one split in the order of the names; sink: a directory"},
			{Name: "compression", Type: connectors.OptEnum, Enum: []string{"auto", "none", "gzip", "zstd"}, Default: "auto", Doc: "auto goes by the ending .gz or .zst of each file, and writes plain files"},
			{Name: "follow", Type: connectors.OptBool, Default: "false", Doc: "source: go on when files grow, are rotated or new ones come; such a table is not bounded"},
			{Name: "roll.size", Type: connectors.OptInt, Default: "134217728", Doc: "sink: bytes, before compression, after which another file is begun; every checkpoint ends a file too"},
			{Name: "roll.interval", Type: connectors.OptDuration, Default: "0", Doc: "sink: time after which another file is begun, 0 for never"},
		},
		Metadata: []connectors.Metadata{
			{Name: metaPath, Type: types.TText, Doc: "path of the file"},
			{Name: metaOffset, Type: types.TBigInt, Doc: "byte at which the line starts in the uncompressed file"},
		},
		Capabilities: capabilities,
		OpenSource:   openSource,
		OpenSink:     openSink,
	}
}

func capabilities(o map[string]string, _ bool) (connectors.Capabilities, error) {
	c := connectors.Capabilities{CanRead: true, CanWrite: true, Bounded: o["follow"] != "true", Splits: 1, Replayable: true,
		Early: true, ForceEarly: true, Hidden: true}
	if o["path"] == "" {
		return c, sqlerr.New(sqlerr.CodeOption, 0, "connector \"file\" needs \"path\"")
	}
	if perFile(o) {
		c.Splits = 0
	}
	if o["follow"] == "true" && (o["compression"] == "gzip" || o["compression"] == "zstd") {
		return c, sqlerr.NotSupported(0, "\"follow\" of compressed files")
	}
	if o["follow"] == "true" && !knowsIdentity {
		return c, sqlerr.NotSupported(0, "\"follow\" on "+runtime.GOOS)
	}
	if _, err := rollSize(o); err != nil {
		return c, err
	}
	if _, err := rollInterval(o); err != nil {
		return c, err
	}
	return c, nil
}

// perFile reports whether every file is a split of its own. A table that follows is one
// split, because files that come later have to find a reader.
func perFile(o map[string]string) bool {
	return o["follow"] != "true" && (isPattern(o["path"]) || strings.HasSuffix(o["path"], "/"))
}

func isPattern(path string) bool { return strings.ContainsAny(path, "*?[") }

func rollSize(o map[string]string) (int64, error) {
	s := o["roll.size"]
	if s == "" {
		return 128 << 20, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, sqlerr.New(sqlerr.CodeOption, 0, "\"roll.size\" has %q, which is no number of bytes", s)
	}
	return n, nil
}

func rollInterval(o map[string]string) (time.Duration, error) {
	s := o["roll.interval"]
	if s == "" || s == "0" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, sqlerr.New(sqlerr.CodeOption, 0, "\"roll.interval\" has %q, which is no duration", s).WithHint("Write it like 30s or 5m.")
	}
	return d, nil
}
