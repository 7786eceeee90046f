package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// TestRulesKeepAnswers makes random plans of several roots over one small table and
// compares the rows of every root before and after each rule. A plan may divide by
// zero; then a rule must not add errors, and rows are compared when there were none.
func TestRulesKeepAnswers(t *testing.T) {
	compared, failing := 0, 0
	for seed := uint64(1); seed <= 250; seed++ {
		g := &generator{r: rand.New(rand.NewPCG(seed, 7))}
		roots := g.roots()
		var want []result
		for _, r := range roots {
			want = append(want, evaluate(r))
		}
		for _, rule := range List() {
			var err error
			if roots, err = rule.Apply(roots); err != nil {
				break // a window column was mixed with others: refused
			}
			for i, r := range roots {
				got := evaluate(r)
				if got.errors > 0 && want[i].errors == 0 {
					t.Fatalf("seed %d, %s: root %d fails where it did not", seed, rule.Name, i)
				}
				if want[i].errors > 0 {
					failing++
					continue
				}
				compared++
				if a, b := want[i].text(), got.text(); a != b {
					t.Fatalf("seed %d, %s: root %d gives\n%s, before\n%s\n%s", seed, rule.Name, i, b, a, describe(r, 0))
				}
			}
		}
	}
	if compared < 1500 || failing < 75 {
		t.Errorf("the generator is one-sided: %d comparisons, %d with errors", compared, failing)
	}
}

// generator makes random plans.
type generator struct {
	r     *rand.Rand
	scan  *logical.Scan
	nodes []logical.Node // made so far, to be used again
}

func (g *generator) roots() []logical.Node {
	def := &catalog.Table{Name: "t"}
	tab := &logical.Table{Def: def, Time: 3, Declared: []int{0, 4, 1, 2, 3}}
	for i, n := range []string{"a", "b", "c", "ts"} {
		typ := types.TBigInt
		if i == 3 {
			typ = types.TTimestamp(3)
		}
		tab.Read = append(tab.Read, plan.ReadColumn{Column: types.Column{Name: n, Type: typ}})
	}
	sum := must(expr.ResolveCall("+", []*expr.Expr{expr.Col(0, types.TBigInt), expr.Col(1, types.TBigInt)}, 0))
	tab.Virtual, tab.VirtualNames = []*expr.Expr{sum}, []string{"d"}
	tab.Watermark = expr.Col(3, types.TTimestamp(3))
	g.scan = logical.NewScan(tab, 0).(*logical.Scan)
	g.nodes = []logical.Node{g.scan}
	var out []logical.Node
	for range 1 + g.r.IntN(3) {
		n := g.nodes[g.r.IntN(len(g.nodes))]
		for range 1 + g.r.IntN(5) {
			n = g.step(n)
			g.nodes = append(g.nodes, n)
		}
		out = append(out, &logical.Sink{Input: n, Table: "out"})
	}
	return out
}

func (g *generator) step(n logical.Node) logical.Node {
	switch g.r.IntN(6) {
	case 0, 1:
		return &logical.Filter{Input: n, Pred: g.pred(n, 2)}
	case 2:
		return g.project(n)
	case 3:
		a, b := g.numbers(n), g.numbers(g.nodes[g.r.IntN(len(g.nodes))])
		return &logical.Union{In: []logical.Node{a, b}}
	case 4:
		return g.group(n, nil)
	}
	t := logical.TimeColumn(n)
	if p := procColumn(n); t < 0 || p >= 0 && g.r.IntN(2) == 0 {
		t = p
	}
	if t >= 0 {
		a := &logical.Assign{Input: n, Time: t, Window: plan.Window{Kind: "hop", Size: 6000, Slide: 4000, Tick: 1000, TimeType: n.Columns()[t].Type}}
		var mid logical.Node = a
		if g.r.IntN(2) == 0 {
			mid = &logical.Filter{Input: mid, Pred: g.pred(n, 1)}
		}
		if g.r.IntN(2) == 0 {
			mid = &logical.Filter{Input: mid, Pred: g.compare(logical.Ref(mid, len(mid.Columns())-3), logical.Ref(mid, len(mid.Columns())-2))}
		}
		k := len(mid.Columns())
		return g.group(mid, []int{k - 3, k - 2})
	}
	return g.project(n)
}

// project computes random columns and mostly keeps the time column.
func (g *generator) project(n logical.Node) logical.Node {
	p := &logical.Project{Input: n}
	for range 1 + g.r.IntN(3) {
		p.Exprs = append(p.Exprs, g.number(n, 2))
	}
	if t := logical.TimeColumn(n); t >= 0 && g.r.IntN(4) > 0 {
		p.Exprs = append(p.Exprs, logical.Ref(n, t))
	}
	if t := procColumn(n); t >= 0 && g.r.IntN(4) > 0 {
		p.Exprs = append(p.Exprs, logical.Ref(n, t))
	}
	for _, fn := range []string{"proctime", "now"} {
		if g.r.IntN(4) == 0 {
			p.Exprs = append(p.Exprs, must(expr.ResolveCall(fn, nil, 0)))
		}
	}
	for i := range p.Exprs {
		p.Names = append(p.Names, fmt.Sprint("p", i))
	}
	return p
}

// procColumn is the first column of processing time, -1 for none.
func procColumn(n logical.Node) int {
	return slices.IndexFunc(n.Columns(), func(c logical.Column) bool { return c.Proc })
}

// numbers brings n to two number columns.
func (g *generator) numbers(n logical.Node) logical.Node {
	return &logical.Project{Input: n, Exprs: []*expr.Expr{g.number(n, 1), g.number(n, 0)}, Names: []string{"x", "y"}}
}

// group groups by the columns keys and some random ones.
func (g *generator) group(n logical.Node, keys []int) logical.Node {
	p := &logical.Project{Input: n}
	out := &logical.GroupAgg{Input: p}
	add := func(e *expr.Expr) int {
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, fmt.Sprint("g", len(p.Names)))
		return len(p.Exprs) - 1
	}
	for _, k := range keys {
		out.Keys = append(out.Keys, add(logical.Ref(n, k)))
	}
	for range g.r.IntN(3) {
		out.Keys = append(out.Keys, add(g.number(n, 1)))
	}
	if g.r.IntN(4) == 0 {
		out.Keys = append(out.Keys, add(must(expr.ResolveCall("now", nil, 0))))
	}
	for _, fn := range []string{"count", "min", "max"} {
		a := expr.AggCall{Fn: fn, Filter: -1, Type: types.TBigInt}
		if fn != "count" {
			a.Args = []int{add(g.number(n, 1))}
		}
		if g.r.IntN(3) == 0 {
			a.Filter = add(g.pred(n, 1))
		}
		out.Aggs, out.AggNames = append(out.Aggs, a), append(out.AggNames, fn)
	}
	return out
}

func (g *generator) number(n logical.Node, depth int) *expr.Expr {
	var cols []int
	for i, c := range n.Columns() {
		if c.Type == types.TBigInt {
			cols = append(cols, i)
		}
	}
	if len(cols) == 0 || depth == 0 && g.r.IntN(4) == 0 {
		return expr.Lit(types.IntValue(types.TBigInt, int64(g.r.IntN(3))))
	}
	if depth == 0 {
		return logical.Ref(n, cols[g.r.IntN(len(cols))])
	}
	switch g.r.IntN(5) {
	case 0:
		return must(expr.ResolveCall([]string{"+", "-", "*", "/"}[g.r.IntN(4)], []*expr.Expr{g.number(n, depth-1), g.number(n, depth-1)}, 0))
	case 1:
		return must(expr.NewCase([]*expr.Expr{g.pred(n, depth-1)}, []*expr.Expr{g.number(n, depth-1)}, g.number(n, depth-1), 0))
	case 2:
		return must(expr.NewCoalesce([]*expr.Expr{g.number(n, depth-1), g.number(n, depth-1)}, 0))
	}
	return g.number(n, 0)
}

func (g *generator) pred(n logical.Node, depth int) *expr.Expr {
	if depth > 0 && g.r.IntN(3) == 0 {
		sides := []*expr.Expr{g.pred(n, depth-1), g.pred(n, depth-1)}
		if g.r.IntN(2) == 0 {
			return must(expr.NewOr(sides, 0))
		}
		return must(expr.NewAnd(sides, 0))
	}
	return g.compare(g.number(n, depth), g.number(n, 0))
}

func (g *generator) compare(a, b *expr.Expr) *expr.Expr {
	return must(expr.ResolveCall([]string{"<", "<=", "<>", "is distinct from"}[g.r.IntN(4)], []*expr.Expr{a, b}, 0))
}

func must(e *expr.Expr, err error) *expr.Expr {
	if err != nil {
		panic(err)
	}
	return e
}

func describe(n logical.Node, depth int) string {
	s := fmt.Sprintf("%*s%T %+v\n", 2*depth, "", n, logical.Fingerprint(n, nil))
	for _, c := range n.Inputs() {
		s += describe(c, depth+1)
	}
	return s
}

// result is the rows of a node and how many evaluations failed on the way.
type result struct {
	rows   [][]types.Value
	errors int
}

func (r result) text() string {
	lines := make([]string, len(r.rows))
	for i, row := range r.rows {
		for _, v := range row {
			if v.Null {
				lines[i] += "NULL,"
			} else {
				lines[i] += fmt.Sprint(v.I, ",")
			}
		}
	}
	sort.Strings(lines)
	return fmt.Sprint(lines)
}
