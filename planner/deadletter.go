package planner

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

const deadLetter = "dead-letter"

// deadLetters checks that a table which sends rows to the dead letters names a table
// for them.
func deadLetters(t *table, _ *catalog.Snapshot) error {
	for _, key := range []string{"on.error", "late.rows"} {
		if t.common[key] != deadLetter || t.common["dead-letter.table"] != "" {
			continue
		}
		o, _ := t.def.Option(key)
		return sqlerr.New(sqlerr.CodeOption, o.ValuePos, "option %q sends rows to the dead letters, but \"dead-letter.table\" is missing", key).
			WithHint("Name a table that can be written, with columns among table_name, error_code, error, field, subject, split, position and payload.")
	}
	return nil
}

// deadLetterSinks connects the nodes whose broken or late rows are kept to the tables
// that keep them.
func (b *builder) deadLetterSinks() error {
	edges := map[string][]plan.Edge{}
	var targets []string
	producers := map[string][]*phys{}
	for _, n := range append([]*phys(nil), b.nodes...) {
		for _, port := range ports(n) {
			target := b.deadLetterTable(n, port)
			if target == "" {
				return sqlerr.New(sqlerr.CodeOption, 0, "on.error is dead-letter, but no table names a \"dead-letter.table\"").
					WithHint("Set option \"dead-letter.table\" on the tables that are read.")
			}
			if edges[target] == nil {
				targets = append(targets, target)
			}
			edges[target] = append(edges[target], plan.Edge{From: n.ID, Port: port, Exchange: plan.Gather})
			producers[target] = append(producers[target], n)
		}
	}
	for _, target := range targets {
		if err := b.deadLetterSink(target, edges[target]); err != nil {
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
func (b *builder) deadLetterTable(n *phys, port plan.Port) string {
	for _, s := range b.sinks {
		if s.node == n && s.logical.DeadLetters != "" {
			return s.logical.DeadLetters
		}
	}
	for _, t := range n.sources {
		if port == plan.Late && t.common["late.rows"] != deadLetter {
			continue
		}
		if name := t.common["dead-letter.table"]; name != "" {
			return name
		}
	}
	return ""
}

// deadLetterSink plans the union of dead letters into one table.
func (b *builder) deadLetterSink(target string, in []plan.Edge) error {
	def, _ := b.snap.Find(target, false)
	if def == nil || def.Access == catalog.ReadOnly {
		e := sqlerr.New(sqlerr.CodeUndefinedTable, 0, "table %q for dead letters does not exist", target)
		if def != nil {
			e.Msg = "table " + strconv.Quote(target) + " for dead letters is a source and cannot be written"
		}
		return e
	}
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
			if c.NotNull {
				return sqlerr.New(sqlerr.CodeNotNull, 0, "column %q of table %q is NOT NULL, but dead letters have no such column", c.Name, def.Name)
			}
			continue
		}
		e, err := expr.AssignTo(expr.Col(i, plan.DeadLetterSchema[i].Type), c.Type, c.Name)
		if err != nil {
			return sqlerr.New(sqlerr.CodeDatatypeMismatch, 0, "column %q of table %q is of type %s but dead letters have %s", c.Name, def.Name, c.Type, plan.DeadLetterSchema[i].Type)
		}
		calc.Exprs = append(calc.Exprs, e)
		s.Target = append(s.Target, c.Column)
	}
	if len(s.Target) == 0 || len(def.Key) > 0 {
		return sqlerr.New(sqlerr.CodeSchema, 0, "table %q cannot take dead letters", def.Name).
			WithHint("Give it columns among table_name, error_code, error, field, subject, split, position and payload, and no PRIMARY KEY.")
	}
	schema := make(types.Schema, len(s.Target))
	copy(schema, s.Target)
	c := b.add(&plan.Node{Inputs: forward(u), Schema: schema, Parallelism: 1, Time: -1, OnError: "fail", Calc: calc}, u)
	node := &plan.Node{
		Inputs: forward(c), Schema: schema, Parallelism: 1, Time: -1, OnError: b.onError([]*table{tab}),
		Sink: &plan.Sink{Table: def.Name, Connector: tab.conn.Name, Options: tab.options, Format: tab.format, Columns: s.Target, Mode: sinkMode(s, false), OnError: b.onError([]*table{tab})},
	}
	b.sinks = append(b.sinks, &sinkInfo{node: b.add(node, c), logical: s, input: c, why: "dead letters have no key"})
	return nil
}
