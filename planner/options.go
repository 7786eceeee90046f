package planner

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// commonOptions are the keys of WITH (…) that the engine reads, whatever the connector.
var commonOptions = []connectors.Option{
	{Name: "connector", Type: connectors.OptString, Required: true, Doc: "the external system"},
	{Name: "format", Aliases: []string{"value.format"}, Type: connectors.OptString, Doc: "how payloads are written"},
	{Name: "on.error", Type: connectors.OptEnum, Enum: []string{"fail", "skip", "dead-letter"}, Doc: "what becomes of a broken row"},
	{Name: "dead-letter.table", Type: connectors.OptString, Doc: "the table that takes broken and late rows"},
	{Name: "dead-letter.subject", Type: connectors.OptString, Doc: "the subject that takes broken and late rows, on the table's own server"},
	{Name: "late.rows", Type: connectors.OptEnum, Enum: []string{"drop", "dead-letter"}, Default: "drop", Doc: "what becomes of a late row"},
	{Name: "watermark.idle-timeout", Aliases: []string{"scan.watermark.idle-timeout"}, Type: connectors.OptDuration, Doc: "after how long without rows a split no longer holds time back; 0 for never"},
	{Name: "parallelism", Aliases: []string{"sink.parallelism", "scan.parallelism"}, Type: connectors.OptInt, Doc: "number of subtasks"},
}

// CommonOptions lists the keys of WITH (…) that the engine reads, whatever the
// connector.
func CommonOptions() []connectors.Option { return slices.Clone(commonOptions) }

// laterOptions are keys that the dialect promises and this version does not read yet.
var laterOptions = []string{"watermark.alignment.max-drift", "watermark.idle-advance", "state.ttl"}

// table is a declared table with its connector and its options checked.
type table struct {
	def     *catalog.Table
	conn    connectors.Connector
	caps    connectors.Capabilities
	format  string
	options map[string]string // connector's and format's, defaults filled in
	common  map[string]string // the engine's
}

func (t *table) parallelism() int {
	n, _ := strconv.Atoi(t.common["parallelism"])
	return n
}

// idleTimeout gives watermark.idle-timeout in microseconds and whether it was written.
func (t *table) idleTimeout() (int64, bool) {
	v, ok := t.common["watermark.idle-timeout"]
	if !ok {
		return 0, false
	}
	d, _ := types.ParseDuration(v)
	return d.Microseconds(), true
}

// resolveTable checks the options of def. Positions count in def.Source.
func resolveTable(def *catalog.Table, opts Options) (*table, error) {
	conn, err := findConnector(def, opts)
	if err != nil {
		return nil, err
	}
	t := &table{def: def, conn: conn, options: map[string]string{}, common: map[string]string{}}
	if err := t.readOptions(opts.Formats); err != nil {
		return nil, err
	}
	t.caps, err = conn.Capabilities(t.resolved(opts.Vars), len(def.Key) > 0)
	if err != nil {
		return nil, t.placed(err)
	}
	if conn.CheckColumns != nil {
		if err := conn.CheckColumns(t.resolved(opts.Vars), t.physical()); err != nil {
			return nil, t.placed(err)
		}
	}
	return t, t.checkFormat(opts.Formats)
}

// physical gives the columns that the connector or the format fills.
func (t *table) physical() types.Schema {
	var out types.Schema
	for _, c := range t.def.Columns {
		if c.Computed == "" && c.Metadata == "" {
			out = append(out, c.Column)
		}
	}
	return out
}

func findConnector(def *catalog.Table, opts Options) (connectors.Connector, error) {
	o, ok := def.Option("connector")
	if !ok {
		return connectors.Connector{}, sqlerr.New(sqlerr.CodeOption, def.Pos, "option \"connector\" of table %q is missing", def.Name).
			WithHint("Add WITH ('connector' = '…'); connectors are %s.", strings.Join(opts.ConnectorNames, ", "))
	}
	conn, ok := opts.Connectors(o.Value)
	if !ok {
		e := sqlerr.New(sqlerr.CodeOption, o.ValuePos, "connector %q does not exist", o.Value)
		if near := sqlerr.Nearest(o.Value, opts.ConnectorNames); near != "" {
			return conn, e.WithHint("did you mean %q?", near)
		}
		return conn, e.WithHint("Connectors are %s.", strings.Join(opts.ConnectorNames, ", "))
	}
	return conn, nil
}

// readOptions sorts the written options into connector's and engine's, resolves aliases,
// checks values and fills in defaults.
func (t *table) readOptions(formats []format.Format) error {
	for _, o := range t.def.Options {
		opt, own, ok := t.find(o.Key, formats)
		if !ok && contains(laterOptions, o.Key) {
			return sqlerr.NotSupported(o.KeyPos, "option "+strconv.Quote(o.Key))
		}
		if !ok {
			e := sqlerr.New(sqlerr.CodeOption, o.KeyPos, "unknown option %q of connector %q", o.Key, t.conn.Name)
			if near := sqlerr.Nearest(o.Key, t.keys(formats)); near != "" {
				return e.WithHint("did you mean %q?", near)
			}
			return e
		}
		into := t.common
		if own {
			into = t.options
		}
		key := opt.Name
		if opt.Prefix {
			key = o.Key
		}
		if _, dup := into[key]; dup {
			return sqlerr.New(sqlerr.CodeOption, o.KeyPos, "option %q is given twice", key)
		}
		if err := checkOption(opt, o); err != nil {
			return err
		}
		into[key] = o.Value
	}
	for _, opt := range t.conn.Options {
		if _, given := t.options[opt.Name]; given || opt.Prefix {
			continue
		}
		if opt.Required {
			return sqlerr.New(sqlerr.CodeOption, t.def.Pos, "option %q of connector %q is missing", opt.Name, t.conn.Name).
				WithHint("Add '%s' = '…' (%s).", opt.Name, opt.Doc)
		}
		if opt.Default != "" {
			t.options[opt.Name] = opt.Default
		}
	}
	return nil
}

// find gives the option that key means and whether it belongs to the connector (or its
// format) rather than to the engine.
func (t *table) find(key string, formats []format.Format) (opt connectors.Option, own, ok bool) {
	for _, o := range t.conn.Options {
		if o.Name == key || o.Prefix && strings.HasPrefix(key, o.Name) && len(key) > len(o.Name) {
			return o, true, true
		}
	}
	for _, o := range commonOptions {
		if o.Name == key {
			return o, false, true
		}
	}
	for _, f := range formats {
		for _, o := range f.Options {
			if o.Name == key {
				return formatOption(o), true, true
			}
		}
	}
	for _, o := range t.conn.Options {
		if contains(o.Aliases, key) {
			return o, true, true
		}
	}
	for _, o := range commonOptions {
		if contains(o.Aliases, key) {
			return o, false, true
		}
	}
	return opt, false, false
}

func (t *table) keys(formats []format.Format) []string {
	var out []string
	for _, o := range t.conn.Options {
		out = append(out, o.Name)
	}
	for _, o := range commonOptions {
		out = append(out, o.Name)
	}
	for _, f := range formats {
		for _, o := range f.Options {
			out = append(out, o.Name)
		}
	}
	return out
}

// checkOption checks the value's syntax. A value with an unresolved secret is checked
// when the table is opened.
func checkOption(opt connectors.Option, o catalog.Option) error {
	if strings.Contains(o.Value, "${") {
		return nil
	}
	bad := func(what string) error {
		return sqlerr.New(sqlerr.CodeOption, o.ValuePos, "option %q must be %s, not %q", o.Key, what, o.Value)
	}
	switch opt.Type {
	case connectors.OptInt:
		if _, err := strconv.ParseInt(o.Value, 10, 64); err != nil {
			return bad("an integer")
		}
	case connectors.OptBool:
		if o.Value != "true" && o.Value != "false" {
			return bad("true or false")
		}
	case connectors.OptDuration:
		if d, err := types.ParseDuration(o.Value); err != nil || d < 0 {
			return bad("a duration such as 500 ms, 10 s or 1 min")
		}
	case connectors.OptEnum:
		if !contains(opt.Enum, o.Value) {
			e := sqlerr.New(sqlerr.CodeOption, o.ValuePos, "option %q must be one of %s, not %q", o.Key, strings.Join(opt.Enum, ", "), o.Value)
			if near := sqlerr.Nearest(o.Value, opt.Enum); near != "" {
				return e.WithHint("did you mean %q?", near)
			}
			return e
		}
	}
	if opt.Name == "parallelism" && strings.HasPrefix(o.Value, "-") || opt.Name == "parallelism" && strings.Trim(o.Value, "0") == "" {
		return bad("greater than zero")
	}
	return nil
}

// hasOption reports that the connector itself reads the option.
func (t *table) hasOption(name string) bool {
	for _, o := range t.conn.Options {
		if o.Name == name {
			return true
		}
	}
	return false
}

// resolved gives the options with ${NAME} replaced where vars knows the name.
func (t *table) resolved(vars func(string) (string, bool)) map[string]string {
	out := make(map[string]string, len(t.options))
	for k, v := range t.options {
		out[k] = expand(v, vars)
	}
	return out
}

func expand(v string, vars func(string) (string, bool)) string {
	if vars == nil {
		return v
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(v, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return b.String() + v
		}
		b.WriteString(before)
		if val, known := vars(name); known {
			b.WriteString(val)
		} else {
			b.WriteString("${" + name + "}")
		}
		v = after
	}
}

// placed gives an error of a connector or format a position: the option or column that
// its message names, else the table.
func (t *table) placed(err error) error {
	e := sqlerr.As(err)
	if e == nil || e.Pos != 0 {
		return err
	}
	c := *e
	c.Pos = t.def.Pos
	for _, col := range t.def.Columns {
		if strings.Contains(e.Msg, strconv.Quote(col.Name)) {
			c.Pos = col.Pos
		}
	}
	for _, o := range t.def.Options {
		if strings.Contains(e.Msg, strconv.Quote(o.Key)) {
			c.Pos = o.ValuePos
		}
	}
	return &c
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func sortedKeys(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
