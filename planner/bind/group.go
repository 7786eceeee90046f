package bind

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// Columns from here on stand for values that exist only after the aggregation: the
// n-th aggregate, and the window columns of a group function.
const (
	aggBase    = 1 << 20
	windowBase = 1 << 21
)

// grouping collects what a SELECT groups by and aggregates, and builds the node.
type grouping struct {
	b    *Binder
	sel  *tree.Select
	sc   *scope
	node logical.Node // below the aggregation

	keys []item
	aggs []boundAgg
	win  *groupWindow
}

// groupWindow is TUMBLE or HOP in GROUP BY.
type groupWindow struct {
	fn   string
	win  plan.Window
	time int
	pos  sqlerr.Pos
}

// bindGroupBy binds the GROUP BY list.
func (g *grouping) bindGroupBy() error {
	if g.sel.GroupBy == nil {
		return nil
	}
	for _, it := range g.sel.GroupBy.Items {
		switch it.Kind {
		case tree.GroupRollup:
			return sqlerr.NotSupported(it.Pos, "ROLLUP")
		case tree.GroupCube:
			return sqlerr.NotSupported(it.Pos, "CUBE")
		case tree.GroupSets:
			return sqlerr.NotSupported(it.Pos, "GROUPING SETS")
		}
		for _, e := range it.Exprs {
			if err := g.groupItem(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *grouping) groupItem(e tree.Expr) error {
	if call, ok := e.(*tree.CallExpr); ok {
		if fn, isWindow := windowCalls[call.FuncName()]; isWindow && fn.prop == "" {
			return g.bindGroupWindow(call, fn.window)
		}
	}
	target, name, err := g.groupTarget(e)
	if err != nil {
		return err
	}
	x := &exprBinder{b: g.b, sc: g.sc, clause: "GROUP BY"}
	bound, err := x.bind(target)
	if err != nil {
		return err
	}
	if bound, err = settle(bound); err != nil {
		return err
	}
	for _, k := range g.keys {
		if k.e.Equal(bound) {
			return nil
		}
	}
	if name == "" {
		name = x.outputName(tree.SelectItem{Expr: target}, bound)
	}
	if name == "?column?" {
		name = "key" + itoa(len(g.keys)+1)
	}
	g.keys = append(g.keys, item{e: bound, name: name})
	return nil
}

// groupTarget resolves an ordinal or an output name to the expression that it means; an
// input column of that name comes first, as in PostgreSQL.
func (g *grouping) groupTarget(e tree.Expr) (tree.Expr, string, error) {
	if text, ok := number(e); ok {
		return g.ordinal(text, e.Extent().Pos)
	}
	ref, ok := e.(*tree.ColumnRef)
	if !ok || len(ref.Parts) > 1 {
		return e, "", nil
	}
	_, err := g.sc.column(ref)
	if err == nil || sqlerr.CodeOf(err) != sqlerr.CodeUndefinedColumn {
		return e, "", err
	}
	for _, match := range []func(string) bool{
		func(a string) bool { return a == ref.Parts[0].Text },
		func(a string) bool { return ref.Parts[0].Matches(a) },
	} {
		for _, it := range g.sel.Items {
			if it.Alias != nil && match(it.Alias.Text) {
				return it.Expr, it.Alias.Text, nil
			}
		}
	}
	return nil, "", err
}

// number gives the text of a numeric constant. A minus before one makes another, as in
// PostgreSQL.
func number(e tree.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *tree.NumberLit:
		return e.Text, true
	case *tree.UnaryExpr:
		if text, ok = number(e.X); !ok || e.Op != tree.OpNeg {
			return "", false
		}
		if positive, negative := strings.CutPrefix(text, "-"); negative {
			return positive, true
		}
		return "-" + text, true
	}
	return "", false
}

// ordinal gives the item of the select list that a number means.
func (g *grouping) ordinal(text string, pos sqlerr.Pos) (tree.Expr, string, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return nil, "", sqlerr.New(sqlerr.CodeSyntax, pos, "non-integer constant in GROUP BY")
	case n < 1 || int(n) > len(g.sel.Items):
		return nil, "", sqlerr.New(sqlerr.CodeInvalidColumnRef, pos, "GROUP BY position %d is not in select list", n)
	}
	it := g.sel.Items[n-1]
	if star, ok := it.Expr.(*tree.Star); ok {
		return nil, "", sqlerr.NotSupported(pos, "GROUP BY position of "+starText(star))
	}
	return it.Expr, it.OutputName(), nil
}

func starText(s *tree.Star) string {
	if len(s.Qualifier) == 0 {
		return "*"
	}
	return s.Qualifier[0].Text + ".*"
}

func (g *grouping) bindGroupWindow(call *tree.CallExpr, fn string) error {
	if g.win != nil {
		return sqlerr.New(sqlerr.CodeWindowing, call.Pos, "only one window is allowed in GROUP BY")
	}
	w, err := g.b.groupWindow(fn, call, g.node, g.sc)
	g.win = w
	return err
}

// groupWindow binds TUMBLE(ts, size) or HOP(ts, slide, size) as a call.
func (b *Binder) groupWindow(fn string, call *tree.CallExpr, in logical.Node, sc *scope) (*groupWindow, error) {
	if fn == "SESSION" {
		return nil, sqlerr.NotSupported(call.Pos, "SESSION")
	}
	if len(call.Args) < 2 {
		return nil, sqlerr.New(sqlerr.CodeUndefinedFunction, call.Pos, "wrong number of arguments of %s", strings.ToUpper(call.FuncName())).
			WithHint("It takes the time column first, then the lengths of the window.")
	}
	win, col, err := b.window(fn, in, sc, call.Args[0], call.Args[1:], call.Pos)
	if err != nil {
		return nil, err
	}
	return &groupWindow{fn: fn, win: win, time: col, pos: call.Pos}, nil
}

// build makes the aggregation and rewrites the select list onto its output.
func (g *grouping) build(items []item, having *expr.Expr) (logical.Node, []item, error) {
	node := g.node
	pre := &preProject{}
	agg := &logical.GroupAgg{Clause: logical.ClauseNone, Pos: g.sel.Pos}
	if g.sel.GroupBy != nil {
		agg.Clause, agg.Pos = logical.ClauseGroupBy, g.sel.GroupBy.Pos
	}
	for _, k := range g.keys {
		agg.Keys = append(agg.Keys, pre.add(k.e, k.name))
	}
	if g.win != nil {
		assign := &logical.Assign{Input: node, Window: g.win.win, Time: g.win.time, Pos: g.win.pos}
		n := len(node.Columns())
		node = assign
		for i, name := range logical.WindowNames {
			agg.Keys = append(agg.Keys, pre.add(logical.Ref(assign, n+i), name))
		}
	}
	for _, a := range g.aggs {
		call := a.call(pre, g.sc)
		agg.Aggs = append(agg.Aggs, call)
		agg.AggNames = append(agg.AggNames, unused(agg.AggNames, call.Fn))
	}
	agg.Input = node
	if len(pre.exprs) > 0 {
		agg.Input = &logical.Project{Input: node, Exprs: pre.exprs, Names: pre.names}
	}

	var out logical.Node = agg
	if having != nil {
		pred, err := g.above(having)
		if err != nil {
			return nil, nil, err
		}
		if err := judgedOnce(pred, agg); err != nil {
			return nil, nil, err
		}
		out = &logical.Filter{Input: agg, Pred: pred}
	}
	for i := range items {
		e, err := g.above(items[i].e)
		if err != nil {
			return nil, nil, err
		}
		items[i].e = e
	}
	return out, items, nil
}

// above rewrites an expression over the aggregation's input into one over its output.
func (g *grouping) above(e *expr.Expr) (*expr.Expr, error) {
	for i, k := range g.keys {
		if k.e.Equal(e) {
			return at(expr.Col(i, e.Type), e.Pos), nil
		}
	}
	if e.Kind == expr.Column {
		switch {
		case e.Col >= windowBase:
			return at(expr.Col(len(g.keys)+e.Col-windowBase, e.Type), e.Pos), nil
		case e.Col >= aggBase:
			n := len(g.keys) + e.Col - aggBase
			if g.win != nil {
				n += len(logical.WindowNames)
			}
			return at(expr.Col(n, e.Type), e.Pos), nil
		}
		return nil, sqlerr.New(sqlerr.CodeGrouping, e.Pos,
			"column %q must appear in the GROUP BY clause or be used in an aggregate function", g.sc.nameOf(e.Col))
	}
	if len(e.Args) == 0 {
		return e, nil
	}
	c := *e
	c.Args = make([]*expr.Expr, len(e.Args))
	for i, a := range e.Args {
		var err error
		if c.Args[i], err = g.above(a); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

func at(e *expr.Expr, pos sqlerr.Pos) *expr.Expr {
	e.Pos = pos
	return e
}

// preProject is the projection below an aggregation; equal expressions are one column.
type preProject struct {
	exprs []*expr.Expr
	names []string
}

func (p *preProject) add(e *expr.Expr, name string) int {
	for i, have := range p.exprs {
		if have.Equal(e) {
			return i
		}
	}
	p.exprs = append(p.exprs, e)
	p.names = append(p.names, unused(p.names, name))
	return len(p.exprs) - 1
}

// unused gives name, numbered when it is taken, so that EXPLAIN can tell columns apart.
func unused(taken []string, name string) string {
	out := name
	for n := 2; slices.Contains(taken, out); n++ {
		out = name + itoa(n)
	}
	return out
}
