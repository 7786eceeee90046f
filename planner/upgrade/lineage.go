package upgrade

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/checkpoint/state"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/plan"
)

// text is said in two ways: show is for people, key is equal when the same is computed.
// The key names columns with their tables and types and is free of positions, so that a
// column more or a predicate elsewhere in the plan does not change it.
type text struct{ show, key string }

// value is a column as the tables of the job give it.
type value struct {
	text
	reads []string // columns of tables, by key
}

// overlaps reports that two values read a column in common.
func (v value) overlaps(o value) bool {
	return slices.ContainsFunc(v.reads, func(c string) bool { return slices.Contains(o.reads, c) })
}

// relation is the rows that a node gives.
type relation struct {
	from  text
	where []text
	cols  []value
	exprs []*expr.Expr // cols over the symbols
	time  text         // how event time and watermark come about
}

// rows says which rows they are.
func (r *relation) rows() text {
	out := r.from
	for i, w := range r.where {
		word := " AND "
		if i == 0 {
			word = " WHERE "
		}
		out.show, out.key = out.show+word+w.show, out.key+word+w.key
	}
	return out
}

// filter adds a predicate, its conjuncts in an order of their own.
func (r *relation) filter(l *lineage, e *expr.Expr) {
	if e == nil {
		return
	}
	if e.Kind == expr.And {
		for _, a := range e.Args {
			r.filter(l, a)
		}
		return
	}
	w := l.text(e)
	i, _ := slices.BinarySearchFunc(r.where, w, func(a, b text) int { return strings.Compare(a.key, b.key) })
	r.where = slices.Insert(slices.Clone(r.where), i, w)
}

// lineage finds what every node of a plan computes from the tables. Symbols are columns
// of tables and whatever else is not an expression over such.
type lineage struct {
	p     *plan.Plan
	zone  string // the time zone, when it is another in the other plan
	names []string
	shown []string // names and what they stand for, in turn
	key   []string
	reads [][]string
	nodes []*relation
}

func newLineage(p, other *plan.Plan) *lineage {
	l := &lineage{p: p}
	if p.TimeZone != other.TimeZone {
		l.zone = " in time zone " + p.TimeZone
	}
	for _, n := range p.Nodes {
		l.nodes = append(l.nodes, l.relation(n))
	}
	return l
}

// symbol makes a new one.
func (l *lineage) symbol(t text, typ string, reads []string) *expr.Expr {
	if reads == nil {
		reads = []string{t.key}
	}
	name := fmt.Sprintf("symbol_%d_of_lineage", len(l.names))
	l.names, l.shown = append(l.names, name), append(l.shown, name, t.show)
	l.key, l.reads = append(l.key, strings.TrimSpace(t.key+" "+typ)), append(l.reads, reads)
	return &expr.Expr{Kind: expr.Column, Col: len(l.names) - 1}
}

// text writes an expression. The key has the quotes that keep names apart.
func (l *lineage) text(e *expr.Expr) text {
	return text{strings.NewReplacer(l.shown...).Replace(e.Format(l.names)), e.Format(l.key)}
}

func (l *lineage) value(e *expr.Expr) value {
	v := value{text: l.text(e)}
	for _, c := range e.Columns() {
		v.reads = append(v.reads, l.reads[c]...)
	}
	return v
}

// project sets the columns of r.
func (l *lineage) project(r *relation, exprs []*expr.Expr) *relation {
	r.exprs, r.cols = exprs, make([]value, len(exprs))
	for i, e := range exprs {
		r.cols[i] = l.value(e)
	}
	return r
}

func (l *lineage) relation(n *plan.Node) *relation {
	ins := make([]*relation, len(n.Inputs))
	for i, e := range n.Inputs {
		if e.Port != plan.Rows {
			ins[i] = l.letters(e)
			continue
		}
		ins[i] = l.nodes[e.From]
	}
	switch {
	case n.Source != nil:
		return l.source(n)
	case n.Values != nil:
		rows := text{fmt.Sprintf("VALUES of %d rows", len(n.Values.Rows)), fmt.Sprintf("VALUES %v", n.Values.Rows)}
		return l.project(&relation{from: rows}, l.symbols(n, rows))
	case n.Calc != nil:
		return l.calc(n, ins[0])
	case n.Stamp != nil:
		return l.stamp(n, ins[0])
	case n.Assign != nil:
		r := *ins[0]
		w := windowText(n.Assign.Window)
		at := r.cols[n.Assign.Time]
		r.from = text{r.from.show + " in " + w + " by " + at.show, r.from.key + " in " + w + " by " + at.key}
		exprs := slices.Clone(r.exprs)
		for _, c := range n.Schema[len(r.exprs):] {
			exprs = append(exprs, l.symbol(text{c.Name, c.Name + " of " + w + " by " + at.key}, "", at.reads))
		}
		return l.project(&r, exprs)
	case n.WindowAgg != nil, n.GroupAgg != nil:
		return l.groups(n, ins[0])
	case n.Union != nil:
		return l.union(n, ins)
	}
	return ins[0]
}

// stamp adds the moment of the rows, and by the clock they are timed from here on.
func (l *lineage) stamp(n *plan.Node, in *relation) *relation {
	r, exprs := *in, slices.Clone(in.exprs)
	for _, c := range n.Schema[len(exprs):] {
		exprs = append(exprs, l.symbol(text{strings.ToUpper(c.Name) + "()", "the moment"}, state.Canonical(c.Type), []string{}))
	}
	if n.Stamp.Timed {
		r.time = text{"the clock", "the clock"}
	}
	return l.project(&r, exprs)
}

// symbols makes one for each column of n, which is known by its place only.
func (l *lineage) symbols(n *plan.Node, of text) []*expr.Expr {
	var out []*expr.Expr
	for i, c := range n.Schema {
		out = append(out, l.symbol(text{c.Name, fmt.Sprintf("column %d of %s", i+1, of.key)}, state.Canonical(c.Type), nil))
	}
	return out
}

func (l *lineage) letters(e plan.Edge) *relation {
	from := text{"rows that failed at " + l.p.Nodes[e.From].Role, string(e.Port) + " of " + l.p.Nodes[e.From].Role}
	return l.project(&relation{from: from}, l.symbols(&plan.Node{Schema: plan.DeadLetterSchema}, from))
}

func (l *lineage) source(n *plan.Node) *relation {
	s := n.Source
	var all []*expr.Expr
	for _, c := range s.Read {
		field := c.Field
		if field == "" {
			field = c.Name
		}
		if c.Metadata != "" {
			field = "metadata " + c.Metadata
		}
		all = append(all, l.symbol(text{c.Name, s.Table + "." + field}, state.Canonical(c.Type), nil))
	}
	for _, v := range s.Virtual {
		all = append(all, v.Substitute(all))
	}
	r := &relation{from: text{s.Table + l.zone, s.Table + l.zone}}
	if s.Predicate != nil {
		r.filter(l, s.Predicate.Substitute(all))
	}
	if s.Watermark != nil {
		t, w := l.text(all[s.TimeColumn]), l.text(s.Watermark.Substitute(all))
		r.time = text{"watermark " + w.show + " for " + t.show, w.key + " for " + t.key}
	}
	var out []*expr.Expr
	for _, c := range s.Output {
		out = append(out, all[c])
	}
	return l.project(r, out)
}

func (l *lineage) calc(n *plan.Node, in *relation) *relation {
	r := *in
	if n.Calc.Predicate != nil {
		r.filter(l, n.Calc.Predicate.Substitute(in.exprs))
	}
	out := make([]*expr.Expr, len(n.Calc.Exprs))
	for i, e := range n.Calc.Exprs {
		out[i] = e.Substitute(in.exprs)
	}
	return l.project(&r, out)
}

// groups is the relation of a grouping: its rows are those of its keys, its results
// symbols.
func (l *lineage) groups(n *plan.Node, in *relation) *relation {
	o := l.grouping(n, in)
	rows := in.rows()
	from := text{"(" + rows.show + " " + o.by().show + ")", "(" + rows.key + " " + o.by().key + ")"}
	var exprs []*expr.Expr
	for _, k := range o.keyCols {
		exprs = append(exprs, in.exprs[k])
	}
	for _, a := range o.aggs {
		exprs = append(exprs, l.symbol(text{a.show, a.key + " of " + from.key}, "", a.reads))
	}
	for _, c := range n.Schema[len(exprs):] {
		exprs = append(exprs, l.symbol(text{c.Name, c.Name + " of " + from.key}, "", nil))
	}
	return l.project(&relation{from: from, time: in.time}, exprs)
}

func (l *lineage) union(n *plan.Node, ins []*relation) *relation {
	// The order of the branches is none of the rows.
	ins = slices.Clone(ins)
	slices.SortStableFunc(ins, func(a, b *relation) int { return strings.Compare(a.rows().key, b.rows().key) })
	r := &relation{}
	var exprs []*expr.Expr
	for i, c := range n.Schema {
		var key []string
		var reads []string
		for _, in := range ins {
			key, reads = append(key, in.cols[i].key), append(reads, in.cols[i].reads...)
		}
		exprs = append(exprs, l.symbol(text{c.Name, strings.Join(key, " or ")}, "", reads))
	}
	for i, in := range ins {
		rows := in.rows()
		if i > 0 {
			r.from.show, r.from.key = r.from.show+" UNION ALL ", r.from.key+" UNION ALL "
			r.time.show, r.time.key = r.time.show+", ", r.time.key+", "
		}
		r.from.show, r.from.key = r.from.show+rows.show, r.from.key+rows.key
		r.time.show, r.time.key = r.time.show+in.time.show, r.time.key+in.time.key
	}
	r.from = text{"(" + r.from.show + ")", "(" + r.from.key + ")"}
	return l.project(r, exprs)
}
