package planner

import (
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

const deadLetter = "dead-letter"

// deadLetters checks that a table which sends rows to the dead letters says where.
func deadLetters(t *table) error {
	if _, given := t.common["dead-letter.subject"]; given && !t.hasOption("subject") {
		o, _ := t.def.Option("dead-letter.subject")
		return sqlerr.New(sqlerr.CodeOption, o.KeyPos, "connector %q has no subjects", t.conn.Name).
			WithHint("Use 'dead-letter.table' with the name of a table.")
	}
	for _, key := range []string{"on.error", "late.rows"} {
		if t.common[key] != deadLetter || t.common["dead-letter.table"] != "" || t.common["dead-letter.subject"] != "" {
			continue
		}
		o, _ := t.def.Option(key)
		return sqlerr.New(sqlerr.CodeOption, o.ValuePos, "option %q sends rows to the dead letters, but \"dead-letter.table\" is missing", key).
			WithHint("Name a table that can be written, with columns among %s.", deadLetterColumns())
	}
	return nil
}

func deadLetterColumns() string { return strings.Join(plan.DeadLetterSchema.Names(), ", ") }

// deadLetterSinks connects the nodes whose broken or late rows are kept to the tables
// that keep them.
func (b *builder) deadLetterSinks() error {
	edges := map[string][]plan.Edge{}
	var targets []*catalog.Table
	for _, n := range append([]*phys(nil), b.nodes...) {
		for _, port := range ports(n) {
			target, err := b.deadLetterTable(n, port)
			if err != nil {
				return err
			}
			if edges[target.Name] == nil {
				targets = append(targets, target)
			}
			edges[target.Name] = append(edges[target.Name], plan.Edge{From: n.ID, Port: port, Exchange: plan.Gather})
		}
	}
	for _, target := range targets {
		if err := b.deadLetterSink(target, edges[target.Name]); err != nil {
			return err
		}
	}
	return nil
}

// ports lists the ports of n whose rows are kept.
func ports(n *phys) []plan.Port {
	var out []plan.Port
	if n.OnError == deadLetter && (n.Source != nil || n.Sink != nil || n.Calc != nil && raises(n.Calc)) {
		out = append(out, plan.Errors)
	}
	if n.WindowAgg != nil || n.Assign != nil {
		for _, t := range n.sources {
			if t.common["late.rows"] == deadLetter {
				return append(out, plan.Late)
			}
		}
	}
	return out
}

func raises(c *plan.Calc) bool {
	for _, e := range c.Exprs {
		if e.Raises() {
			return true
		}
	}
	return c.Predicate != nil && c.Predicate.Raises()
}

// deadLetterTable finds the table for the rows of a port: a sink's own, else that of the
// first table below that has one.
func (b *builder) deadLetterTable(n *phys, port plan.Port) (*catalog.Table, error) {
	for _, s := range b.sinks {
		if s.node == n && s.logical.DeadLetters != "" {
			return b.namedDeadLetters(s.logical.DeadLetters)
		}
	}
	for _, t := range n.sources {
		switch {
		case port == plan.Late && t.common["late.rows"] != deadLetter:
		case t.common["dead-letter.table"] != "":
			return b.namedDeadLetters(t.common["dead-letter.table"])
		case t.common["dead-letter.subject"] != "":
			return subjectDeadLetters(t), nil
		}
	}
	return nil, sqlerr.New(sqlerr.CodeOption, 0, "on.error is dead-letter, but no table names a \"dead-letter.table\"").
		WithHint("Set option \"dead-letter.table\" on the tables that are read.")
}

func (b *builder) namedDeadLetters(name string) (*catalog.Table, error) {
	def, _ := b.snap.Find(name, false)
	switch {
	case def == nil:
		return nil, sqlerr.New(sqlerr.CodeUndefinedTable, 0, "table %q for dead letters does not exist", name)
	case def.Access == catalog.ReadOnly:
		return nil, sqlerr.New("42809", 0, "table %q for dead letters is a source and cannot be written", name)
	}
	return def, nil
}

// subjectDeadLetters declares a table for the dead letters of t under a subject of the
// same server.
func subjectDeadLetters(t *table) *catalog.Table {
	out := &catalog.Table{Name: t.def.Name + " dead letters", Access: catalog.WriteOnly, Pos: t.def.Pos}
	for _, c := range plan.DeadLetterSchema {
		out.Columns = append(out.Columns, catalog.TableColumn{Column: c})
	}
	out.Options = []catalog.Option{
		{Key: "connector", Value: t.conn.Name},
		{Key: "subject", Value: t.common["dead-letter.subject"]},
	}
	for _, k := range sortedKeys(t.options) {
		if k == "url" || k == "context" || strings.HasPrefix(k, "auth.") || strings.HasPrefix(k, "tls.") {
			out.Options = append(out.Options, catalog.Option{Key: k, Value: t.options[k]})
		}
	}
	return out
}

// deadLetterSink plans the union of dead letters into one table.
func (b *builder) deadLetterSink(def *catalog.Table, in []plan.Edge) error {
	tab, err := resolveTable(def, b.opts)
	if err != nil {
		return err
	}
	if tab.common["on.error"] == deadLetter {
		return sqlerr.New(sqlerr.CodeOption, 0, "table %q takes dead letters and cannot have on.error = 'dead-letter' itself", def.Name)
	}
	u := b.add(&plan.Node{Inputs: in, Schema: plan.DeadLetterSchema, Parallelism: 1, Time: -1, Union: &plan.Union{}})
	u.Deterministic, u.ordered = false, false
	calc := &plan.Calc{}
	s := &logical.Sink{
		Table: def.Name, Connector: tab.conn.Name, Caps: tab.caps, Options: tab.options, Format: tab.format, OnError: tab.common["on.error"],
	}
	for _, c := range def.Columns {
		if c.Computed != "" || c.Virtual {
			continue
		}
		i := plan.DeadLetterSchema.Index(c.Name)
		if i < 0 {
			e := sqlerr.New(sqlerr.CodeUndefinedColumn, 0, "table %q takes dead letters, which have no column %q", def.Name, c.Name)
			if near := sqlerr.Nearest(c.Name, plan.DeadLetterSchema.Names()); near != "" {
				return e.WithHint("did you mean %q?", near)
			}
			return e.WithHint("Their columns are %s.", deadLetterColumns())
		}
		from := expr.Col(i, plan.DeadLetterSchema[i].Type)
		if from.Type == types.TBytes && c.Type.Kind == types.Text {
			// Readable: bytes that are no ASCII text come as PostgreSQL's escapes.
			if from, err = expr.ResolveCall("encode", []*expr.Expr{from, expr.StringLit("escape", 0)}, 0); err != nil {
				return err
			}
		}
		e, err := expr.AssignTo(from, c.Type, c.Name)
		if err != nil {
			return sqlerr.New(sqlerr.CodeDatatypeMismatch, 0, "column %q of table %q is of type %s but dead letters have %s", c.Name, def.Name, c.Type, plan.DeadLetterSchema[i].Type)
		}
		calc.Exprs = append(calc.Exprs, e)
		s.Target = append(s.Target, c.Column)
	}
	if len(s.Target) == 0 || len(def.Key) > 0 {
		return sqlerr.New(sqlerr.CodeSchema, 0, "table %q cannot take dead letters", def.Name).
			WithHint("Give it columns among %s, and no PRIMARY KEY.", deadLetterColumns())
	}
	schema := append(types.Schema(nil), s.Target...)
	c := b.add(&plan.Node{Inputs: forward(u), Schema: schema, Parallelism: 1, Time: -1, OnError: "fail", Calc: calc}, u)
	onError := s.OnError
	if onError == "" {
		onError = "fail"
	}
	node := &plan.Node{
		Inputs: forward(c), Schema: schema, Parallelism: 1, Time: -1, OnError: onError,
		Sink: &plan.Sink{
			Table: def.Name, Connector: tab.conn.Name, Options: tab.options, Format: tab.format,
			Columns: s.Target, Mode: sinkMode(s, false), OnError: onError,
		},
	}
	b.sinks = append(b.sinks, &sinkInfo{node: b.add(node, c), logical: s, input: c, why: "dead letters have no key"})
	return nil
}
