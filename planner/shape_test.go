package planner_test

import (
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/plan"
)

// checkShape verifies what the runtime takes for granted of a plan: order of ids,
// forward edges between equal parallelisms, column numbers in range and of the type
// that they are read as, expressions that compile, unique roles.
func checkShape(t *testing.T, p *plan.Plan) {
	t.Helper()
	roles := map[string]bool{}
	for i, n := range p.Nodes {
		if n.ID != i {
			t.Fatalf("node %d has id %d", i, n.ID)
		}
		if n.Role == "" || roles[n.Role] {
			t.Errorf("node %d: role %q is empty or taken", i, n.Role)
		}
		roles[n.Role] = true
		for _, e := range n.Inputs {
			if e.From >= i {
				t.Fatalf("node %d reads from %d", i, e.From)
			}
			in := p.Nodes[e.From]
			if e.Exchange == plan.Forward && in.Parallelism != n.Parallelism {
				t.Errorf("node %d: forward from parallelism %d to %d", i, in.Parallelism, n.Parallelism)
			}
			if e.Exchange == plan.Gather && n.Parallelism != 1 {
				t.Errorf("node %d: gather at parallelism %d", i, n.Parallelism)
			}
			inRange(t, i, e.Keys, in.Schema)
		}
		inRange(t, i, n.Key, n.Schema)
		if n.Time >= len(n.Schema) {
			t.Errorf("node %d: time column %d", i, n.Time)
		}
		if n.Time >= 0 && !n.Schema[n.Time].Type.IsTimestamp() {
			t.Errorf("node %d: time column is %s", i, n.Schema[n.Time].Type)
		}
		checkNode(t, p, n)
	}
}

func inRange(t *testing.T, node int, cols []int, s types.Schema) {
	t.Helper()
	for _, c := range cols {
		if c < 0 || c >= len(s) {
			t.Errorf("node %d: column %d of %d", node, c, len(s))
		}
	}
}

func compiles(t *testing.T, node int, pred *expr.Expr, out []*expr.Expr, in types.Schema) {
	t.Helper()
	if _, err := expr.Compile(pred, out, in.Types()); err != nil {
		t.Errorf("node %d: %v", node, err)
	}
}

func checkNode(t *testing.T, p *plan.Plan, n *plan.Node) {
	t.Helper()
	var in types.Schema
	if len(n.Inputs) > 0 {
		in = p.Nodes[n.Inputs[0].From].Schema
		if n.Inputs[0].Port != plan.Rows {
			in = plan.DeadLetterSchema
		}
	}
	want := types.Schema{}
	switch {
	case n.Source != nil:
		s := n.Source
		var space types.Schema
		for _, r := range s.Read {
			space = append(space, r.Column)
		}
		for _, v := range s.Virtual {
			compiles(t, n.ID, nil, []*expr.Expr{v}, space)
			space = append(space, types.Column{Type: v.Type})
		}
		compiles(t, n.ID, s.Predicate, nil, space)
		if s.Watermark != nil {
			compiles(t, n.ID, nil, []*expr.Expr{s.Watermark}, space)
		}
		for _, o := range s.Output {
			want = append(want, space[o])
		}
	case n.Values != nil:
		return
	case n.Calc != nil:
		compiles(t, n.ID, n.Calc.Predicate, n.Calc.Exprs, in)
		for _, e := range n.Calc.Exprs {
			want = append(want, types.Column{Type: e.Type})
		}
	case n.Stamp != nil:
		want = append(want, in...)
		for _, s := range n.Stamp.Types {
			want = append(want, types.Column{Type: s})
		}
	case n.Assign != nil:
		want = append(append(want, in...), windowColumns(n.Assign.Window, 3)...)
	case n.WindowAgg != nil:
		w := n.WindowAgg
		want = append(aggColumns(t, n.ID, in, w.Keys, w.Aggs), windowColumns(w.Window, len(w.Props))...)
	case n.GroupAgg != nil:
		want = aggColumns(t, n.ID, in, n.GroupAgg.Keys, n.GroupAgg.Aggs)
	default:
		want = in
	}
	if len(want) != len(n.Schema) {
		t.Fatalf("node %d gives %d columns, its schema has %d", n.ID, len(want), len(n.Schema))
	}
	for i := range want {
		if want[i].Type != n.Schema[i].Type {
			t.Errorf("node %d column %d: %s, schema %s", n.ID, i, want[i].Type, n.Schema[i].Type)
		}
	}
}

func windowColumns(w plan.Window, n int) types.Schema {
	out := make(types.Schema, n)
	for i := range out {
		out[i].Type = w.TimeType
	}
	return out
}

func aggColumns(t *testing.T, node int, in types.Schema, keys []int, aggs []expr.AggCall) types.Schema {
	t.Helper()
	var out types.Schema
	inRange(t, node, keys, in)
	for _, k := range keys {
		out = append(out, in[k])
	}
	for _, a := range aggs {
		inRange(t, node, a.Args, in)
		if a.Filter >= 0 && in[a.Filter].Type != types.TBool {
			t.Errorf("node %d: filter is %s", node, in[a.Filter].Type)
		}
		f, ok := agg.Find(a.Fn)
		if !ok {
			t.Fatalf("node %d: aggregate %q", node, a.Fn)
		}
		var args []types.Type
		for _, c := range a.Args {
			args = append(args, in[c].Type)
		}
		if _, res, ok := f.Resolve(args); !ok || res != a.Type {
			t.Errorf("node %d: %s gives %s, the call says %s", node, a.Fn, res, a.Type)
		}
		out = append(out, types.Column{Type: a.Type})
	}
	return out
}
