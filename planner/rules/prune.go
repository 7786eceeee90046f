package rules

import (
	"slices"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// pruneColumns drops the columns that nobody reads: a scan reads the union of what its
// consumers need, and makes watermarks only if one of them uses the table's time.
func pruneColumns(roots []logical.Node) ([]logical.Node, error) {
	order := logical.Order(roots)
	p := &pruner{need: map[logical.Node][]bool{}, timed: map[logical.Node]bool{}}
	for i := len(order) - 1; i >= 0; i-- {
		p.mark(order[i])
	}
	kept := map[logical.Node]logical.Node{}
	places := map[logical.Node][]int{} // new column by old one, -1 for dropped
	for _, n := range order {
		in := n.Inputs()
		next := make([]logical.Node, len(in))
		maps := make([][]int, len(in))
		for i, c := range in {
			next[i], maps[i] = kept[c], places[c]
		}
		kept[n], places[n] = p.rebuild(n, next, maps)
	}
	out := make([]logical.Node, len(roots))
	for i, r := range roots {
		out[i] = kept[r]
	}
	return out, nil
}

type pruner struct {
	need  map[logical.Node][]bool
	timed map[logical.Node]bool
}

func (p *pruner) needs(n logical.Node) []bool {
	if p.need[n] == nil {
		p.need[n] = make([]bool, len(n.Columns()))
	}
	return p.need[n]
}

// mark tells the inputs of n what n needs of them. All consumers of n have been marked.
func (p *pruner) mark(n logical.Node) {
	need := p.needs(n)
	ask := func(in logical.Node, cols ...int) {
		have := p.needs(in)
		for _, c := range cols {
			have[c] = true
		}
	}
	keepTime := func() {
		for _, in := range n.Inputs() {
			p.timed[in] = p.timed[in] || p.timed[n]
		}
	}
	switch n := n.(type) {
	case *logical.Sink:
		for i := range n.Input.Columns() {
			ask(n.Input, i)
		}
	case *logical.Filter:
		for i, b := range need {
			if b {
				ask(n.Input, i)
			}
		}
		ask(n.Input, n.Pred.Columns()...)
		keepTime()
	case *logical.Project:
		for i, b := range need {
			if b {
				ask(n.Input, n.Exprs[i].Columns()...)
			}
		}
		keepTime()
	case *logical.Stamp:
		in := len(n.Input.Columns())
		for i, b := range need[:in] {
			if b {
				ask(n.Input, i)
			}
		}
		p.timed[n.Input] = p.timed[n.Input] || p.timed[n] && !n.Timed
	case *logical.Assign:
		for i, b := range need {
			if b && i < len(n.Input.Columns()) {
				ask(n.Input, i)
			}
		}
		ask(n.Input, n.Time)
		p.timed[n.Input] = true
	case *logical.GroupAgg:
		for i := range n.Keys {
			need[i] = true
		}
		ask(n.Input, n.Keys...)
		p.markAggs(n.Input, n.Aggs, need[len(n.Keys):], ask)
	case *logical.WindowAgg:
		for i := range n.Keys {
			need[i] = true
		}
		ask(n.Input, n.Keys...)
		ask(n.Input, n.Time)
		p.markAggs(n.Input, n.Aggs, need[len(n.Keys):], ask)
		p.timed[n.Input] = true
	case *logical.Union:
		for _, in := range n.In {
			for i, b := range need {
				if b {
					ask(in, i)
				}
			}
		}
		keepTime()
	case *logical.Scan:
		keepCheapest(n, need)
	}
}

// keepCheapest keeps a column that need not be computed where none is needed.
func keepCheapest(s *logical.Scan, need []bool) {
	best := -1
	for i, o := range s.Output {
		if need[i] {
			return
		}
		if best < 0 || o < s.Output[best] {
			best = i
		}
	}
	if best >= 0 {
		need[best] = true
	}
}

func (p *pruner) markAggs(in logical.Node, aggs []expr.AggCall, need []bool, ask func(logical.Node, ...int)) {
	for i, a := range aggs {
		if need[i] {
			ask(in, a.Args...)
			if a.Filter >= 0 {
				ask(in, a.Filter)
			}
		}
	}
}

// carrier is what is left of aggregates that nobody reads: rows without columns have
// nothing to carry them, and no column that is not read is computed.
var carrier = expr.AggCall{Fn: "count", Filter: -1, Type: types.TBigInt}

// rebuild gives n over the pruned inputs, and the new places of its columns.
func (p *pruner) rebuild(n logical.Node, in []logical.Node, maps [][]int) (logical.Node, []int) {
	need := p.needs(n)
	switch n := n.(type) {
	case *logical.Scan:
		s := *n
		s.Output = nil
		for i, b := range need {
			if b {
				s.Output = append(s.Output, n.Output[i])
			}
		}
		s.Timed = n.Timed && p.timed[n]
		return &s, placesOf(need)
	case *logical.Values:
		return n, identityPlaces(len(need))
	case *logical.Filter:
		return &logical.Filter{Input: in[0], Pred: remap(n.Pred, maps[0])}, maps[0]
	case *logical.Project:
		if !slices.Contains(need, true) {
			return in[0], placesOf(need)
		}
		out := &logical.Project{Input: in[0]}
		for i, b := range need {
			if b {
				out.Exprs = append(out.Exprs, remap(n.Exprs[i], maps[0]))
				out.Names = append(out.Names, n.Names[i])
			}
		}
		return out, placesOf(need)
	case *logical.Stamp:
		s := &logical.Stamp{Input: in[0], Timed: n.Timed && p.timed[n]}
		places := append([]int(nil), maps[0]...)
		at := len(in[0].Columns())
		for i, t := range n.Types {
			place := -1
			if need[len(maps[0])+i] || s.Timed && i == 0 {
				place = at + len(s.Types)
				s.Types = append(s.Types, t)
			}
			places = append(places, place)
		}
		if len(s.Types) == 0 {
			return in[0], places
		}
		return s, places
	case *logical.Assign:
		a := *n
		a.Input, a.Time = in[0], maps[0][n.Time]
		places := append([]int(nil), maps[0]...)
		for i := range logical.WindowNames {
			places = append(places, len(in[0].Columns())+i)
		}
		return &a, places
	case *logical.GroupAgg:
		g := *n
		g.Input, g.Keys = in[0], remapAll(n.Keys, maps[0])
		g.Aggs, g.AggNames = keptAggs(n.Aggs, n.AggNames, need[len(n.Keys):], maps[0])
		if !slices.Contains(need, true) {
			g.Aggs, g.AggNames = []expr.AggCall{carrier}, []string{carrier.Fn}
		}
		return &g, placesOf(need)
	case *logical.WindowAgg:
		w := *n
		w.Input, w.Keys, w.Time = in[0], remapAll(n.Keys, maps[0]), maps[0][n.Time]
		w.Aggs, w.AggNames = keptAggs(n.Aggs, n.AggNames, need[len(n.Keys):], maps[0])
		w.Props = keptProps(n.Props, need[len(n.Keys)+len(n.Aggs):])
		if !slices.Contains(need, true) {
			w.Aggs, w.AggNames = []expr.AggCall{carrier}, []string{carrier.Fn}
		}
		return &w, placesOf(need)
	case *logical.Union:
		return rebuildUnion(n, need, in, maps), placesOf(need)
	}
	return n.WithInputs(in), identityPlaces(len(need))
}

// rebuildUnion brings every branch to the needed columns in order.
func rebuildUnion(n *logical.Union, need []bool, in []logical.Node, maps [][]int) logical.Node {
	out := &logical.Union{}
	for i, branch := range in {
		proj := &logical.Project{Input: branch}
		for c, b := range need {
			if b {
				proj.Exprs = append(proj.Exprs, logical.Ref(branch, maps[i][c]))
				proj.Names = append(proj.Names, n.Columns()[c].Name)
			}
		}
		if len(proj.Exprs) == 0 {
			proj.Exprs, proj.Names = []*expr.Expr{expr.Lit(types.Value{Type: types.TBool})}, []string{"none"}
		}
		out.In = append(out.In, proj)
	}
	return out
}

func keptAggs(aggs []expr.AggCall, names []string, need []bool, to []int) ([]expr.AggCall, []string) {
	var out []expr.AggCall
	var outNames []string
	for i, a := range aggs {
		if !need[i] {
			continue
		}
		a.Args = remapAll(a.Args, to)
		if a.Filter >= 0 {
			a.Filter = to[a.Filter]
		}
		out, outNames = append(out, a), append(outNames, names[i])
	}
	return out, outNames
}

func keptProps(props []plan.WindowProp, need []bool) []plan.WindowProp {
	var out []plan.WindowProp
	for i, p := range props {
		if need[i] {
			out = append(out, p)
		}
	}
	return out
}

func remap(e *expr.Expr, to []int) *expr.Expr { return e.Map(func(c int) int { return to[c] }) }

func remapAll(cols, to []int) []int {
	out := make([]int, len(cols))
	for i, c := range cols {
		out[i] = to[c]
	}
	return out
}

func placesOf(need []bool) []int {
	out := make([]int, len(need))
	n := 0
	for i, b := range need {
		out[i] = -1
		if b {
			out[i] = n
			n++
		}
	}
	return out
}

func identityPlaces(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
