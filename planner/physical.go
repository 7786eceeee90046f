package planner

import (
	"slices"
	"strings"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// physical makes the physical plan of optimised roots, which are sinks.
func physical(roots []logical.Node, snap *catalog.Snapshot, opts Options) (*plan.Plan, error) {
	b := &builder{
		opts: opts, snap: snap,
		uses:   logical.Consumers(roots),
		made:   map[logical.Node]*phys{},
		tables: map[string]*table{},
	}
	b.order = logical.Order(roots)
	if err := b.scanTables(); err != nil {
		return nil, err
	}
	for _, r := range roots {
		if err := b.sink(r.(*logical.Sink)); err != nil {
			return nil, err
		}
	}
	if err := b.deadLetterSinks(); err != nil {
		return nil, err
	}
	b.settleChangelogs()
	b.roles()
	p := &plan.Plan{
		Version: plan.Version, KeyGroups: KeyGroups, TimeZone: opts.TimeZone,
		Guarantee: b.guarantee(), OrderSensitive: b.sensitive, Notices: b.notices,
	}
	for _, n := range b.nodes {
		p.Nodes = append(p.Nodes, n.Node)
	}
	return p, nil
}

// phys is a plan node with what only the planner needs of it.
type phys struct {
	*plan.Node
	// updating: rows may change after they came out; cause is the node that makes it so
	// and needsOld that some consumer needs the old half of an update.
	updating bool
	cause    *logical.GroupAgg
	needsOld bool
	// ordered: the rows of a key come in an order that replay repeats.
	ordered bool
	// stamped: the rows depend on the moment at which they came.
	stamped bool
	// sources below, by table, in order.
	sources []*table
}

type builder struct {
	opts    Options
	snap    *catalog.Snapshot
	order   []logical.Node
	uses    map[logical.Node]int
	made    map[logical.Node]*phys
	nodes   []*phys
	tables  map[string]*table
	sinks   []*sinkInfo
	notices []string
	// sensitive is what depends on the order of arrival.
	sensitive []string
}

func (b *builder) add(n *plan.Node, inputs ...*phys) *phys {
	n.ID = len(b.nodes)
	p := &phys{Node: n, ordered: true}
	n.Deterministic = true
	for _, in := range inputs {
		n.Deterministic = n.Deterministic && in.Deterministic
		p.ordered = p.ordered && in.ordered
		p.stamped = p.stamped || in.stamped
		if in.updating && !p.updating {
			p.updating, p.cause = true, in.cause
		}
		for _, s := range in.sources {
			if !containsTable(p.sources, s) {
				p.sources = append(p.sources, s)
			}
		}
	}
	b.nodes = append(b.nodes, p)
	return p
}

func containsTable(list []*table, t *table) bool {
	for _, x := range list {
		if x == t {
			return true
		}
	}
	return false
}

func (b *builder) notice(text string) {
	if !contains(b.notices, text) {
		b.notices = append(b.notices, text)
	}
}

func (b *builder) orderSensitive(what string) {
	if !contains(b.sensitive, what) {
		b.sensitive = append(b.sensitive, what)
	}
}

// sums notes aggregates of DOUBLE, which are not associative.
func (b *builder) sums(in *phys, aggs []expr.AggCall) {
	for _, a := range aggs {
		if len(a.Args) == 0 || !a.Type.IsFloat() || a.Fn == "min" || a.Fn == "max" {
			continue
		}
		b.orderSensitive(upperCall(a) + "(" + in.Schema[a.Args[0]].Name + ") of " + in.Schema[a.Args[0]].Type.String() + ": its last digits")
	}
}

// node makes the plan nodes of n and what is below, once.
func (b *builder) node(n logical.Node) (*phys, error) {
	if p, ok := b.made[n]; ok {
		return p, nil
	}
	p, err := b.make(n)
	if err != nil {
		return nil, err
	}
	b.made[n] = p
	return p, nil
}

func (b *builder) make(n logical.Node) (*phys, error) {
	switch n := n.(type) {
	case *logical.Scan:
		return b.source(n)
	case *logical.Values:
		p := b.add(&plan.Node{Schema: n.Names, Parallelism: 1, Time: -1, Values: &plan.Values{Rows: n.Rows}})
		return p, nil
	case *logical.Filter:
		return b.calc(n, n.Input, n.Pred, logical.Identity(n.Input))
	case *logical.Project:
		if f, ok := n.Input.(*logical.Filter); ok && b.uses[f] == 1 {
			return b.calc(n, f.Input, f.Pred, n.Exprs)
		}
		return b.calc(n, n.Input, nil, n.Exprs)
	case *logical.Stamp:
		return b.stamp(n)
	case *logical.Assign:
		return b.assign(n)
	case *logical.WindowAgg:
		return b.windowAgg(n)
	case *logical.GroupAgg:
		return b.groupAgg(n)
	case *logical.Union:
		return b.union(n)
	}
	return nil, sqlerr.Internalf("no physical form of %T", n)
}

func (b *builder) calc(n, input logical.Node, pred *expr.Expr, exprs []*expr.Expr) (*phys, error) {
	in, err := b.node(input)
	if err != nil {
		return nil, err
	}
	p := b.add(&plan.Node{
		Inputs: forward(in), Schema: logical.Schema(n), Parallelism: in.Parallelism, Time: logical.TimeColumn(n),
		Calc: &plan.Calc{Predicate: pred, Exprs: exprs},
	}, in)
	p.Key = throughKey(in.Key, exprs)
	p.OnError = b.onError(p.sources)
	return p, nil
}

// throughKey follows a key through a projection; nil when part of it is lost.
func throughKey(key []int, exprs []*expr.Expr) []int {
	if key == nil {
		return nil
	}
	out := []int{}
	for _, k := range key {
		at := -1
		for i, e := range exprs {
			if e.Kind == expr.Column && e.Col == k {
				at = i
				break
			}
		}
		if at < 0 {
			return nil
		}
		out = append(out, at)
	}
	return out
}

func forward(in *phys) []plan.Edge {
	return []plan.Edge{{From: in.ID, Exchange: plan.Forward}}
}

// byKey is the exchange to an operator keyed by columns of in, and its parallelism.
func byKey(in *phys, keys []int) ([]plan.Edge, int) {
	if len(keys) == 0 {
		return []plan.Edge{{From: in.ID, Exchange: plan.Gather}}, 1
	}
	return []plan.Edge{{From: in.ID, Exchange: plan.Hash, Keys: keys}}, 0
}

func (b *builder) assign(n *logical.Assign) (*phys, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return nil, err
	}
	p := b.add(&plan.Node{
		Inputs: forward(in), Schema: logical.Schema(n), Parallelism: in.Parallelism, Time: logical.TimeColumn(n),
		Assign: &plan.Assign{Window: n.Window, Time: n.Time},
	}, in)
	if in.Key != nil {
		// A row is copied into each of its windows: the window's start joins the key.
		p.Key = append(append([]int{}, in.Key...), len(in.Schema))
	}
	return p, nil
}

func (b *builder) windowAgg(n *logical.WindowAgg) (*phys, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return nil, err
	}
	b.sums(in, n.Aggs)
	edges, par := byKey(in, n.Keys)
	p := b.add(&plan.Node{
		Inputs: edges, Schema: logical.Schema(n), Parallelism: par, Time: logical.TimeColumn(n),
		WindowAgg: &plan.WindowAgg{Window: n.Window, Time: n.Time, Keys: n.Keys, Aggs: n.Aggs, Props: n.Props},
	}, in)
	if len(n.Props) > 0 {
		// Any one of the window's columns tells the windows apart.
		p.Key = append(firstN(len(n.Keys)), len(n.Keys)+len(n.Aggs))
	}
	p.ordered = true
	return p, nil
}

func firstN(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (b *builder) groupAgg(n *logical.GroupAgg) (*phys, error) {
	in, err := b.node(n.Input)
	if err != nil {
		return nil, err
	}
	b.sums(in, n.Aggs)
	edges, par := byKey(in, n.Keys)
	p := b.add(&plan.Node{
		Inputs: edges, Schema: logical.Schema(n), Parallelism: par, Time: -1,
		GroupAgg: &plan.GroupAgg{Keys: n.Keys, Aggs: n.Aggs, Changing: in.updating && keepsMore(n, in)},
	}, in)
	p.Key = firstN(len(n.Keys))
	// Without aggregates a group's row never changes while the input only grows.
	if len(n.Aggs) > 0 || in.updating {
		p.updating, p.cause = true, n
	}
	return p, nil
}

// keepsMore reports that an aggregate cannot take rows back by its result alone.
func keepsMore(n *logical.GroupAgg, in *phys) bool {
	return slices.ContainsFunc(n.Aggs, func(a expr.AggCall) bool {
		f, ok := agg.Find(a.Fn)
		return ok && !f.New(argTypes(a, in), a.Type).Retracts()
	})
}

func argTypes(a expr.AggCall, in *phys) []types.Type {
	out := make([]types.Type, len(a.Args))
	for i, c := range a.Args {
		out[i] = in.Schema[c].Type
	}
	return out
}

func upperCall(a expr.AggCall) string { return strings.ToUpper(a.Fn) }

// union joins its branches: in place where they run alike, else in one subtask, which
// keeps the order of every branch.
func (b *builder) union(n *logical.Union) (*phys, error) {
	var ins []*phys
	alike := true
	for _, c := range n.In {
		in, err := b.node(c)
		if err != nil {
			return nil, err
		}
		ins = append(ins, in)
		alike = alike && in.Parallelism == ins[0].Parallelism
	}
	node := &plan.Node{Schema: logical.Schema(n), Parallelism: ins[0].Parallelism, Time: logical.TimeColumn(n), Union: &plan.Union{}}
	for _, in := range ins {
		e := plan.Edge{From: in.ID, Exchange: plan.Forward}
		if !alike {
			e.Exchange, node.Parallelism = plan.Gather, 1
		}
		node.Inputs = append(node.Inputs, e)
	}
	p := b.add(node, ins...)
	p.ordered = false
	return p, nil
}
