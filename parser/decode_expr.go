package parser

import (
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	"github.com/streamsql/streamsql/parser/tree"
)

// val is a decoded expression with the tokens it covers, brackets included.
type val struct {
	expr   tree.Expr
	lo, hi int
}

// decode turns an expression of TiDB's into ours. Every node type that is not listed
// is a fault of the lowering.
func (f *fragment) decode(n ast.ExprNode) (val, error) {
	switch n := n.(type) {
	case *ast.ColumnNameExpr:
		if n.Name.Schema.O != "" || n.Name.Table.O != "" {
			return val{}, f.internal("unexpected qualified mark")
		}
		m, err := f.take(n.Name.Name.O, mLeaf)
		if err != nil {
			return val{}, err
		}
		return val{m.expr, m.lo, m.hi}, nil
	case *ast.ParenthesesExpr:
		v, err := f.decode(n.Expr)
		if err != nil {
			return val{}, err
		}
		if v.lo == 0 || f.p.toks[v.lo-1].match != v.hi {
			return val{}, f.internal("brackets came back elsewhere")
		}
		return val{v.expr, v.lo - 1, v.hi + 1}, nil
	case *ast.BinaryOperationExpr:
		return f.binary(n)
	case *ast.UnaryOperationExpr:
		return f.unary(n)
	case *ast.IsNullExpr:
		return f.isTest(n.Expr, tree.IsNull, n.Not)
	case *ast.IsTruthExpr:
		if n.True == 1 {
			return f.isTest(n.Expr, tree.IsTrue, n.Not)
		}
		return f.isTest(n.Expr, tree.IsFalse, n.Not)
	case *ast.PatternInExpr:
		return f.in(n)
	case *ast.PatternLikeOrIlikeExpr:
		return f.like(n)
	case *ast.BetweenExpr:
		return f.betweenOf(n)
	case *ast.CaseExpr:
		return f.caseOf(n)
	case *ast.FuncCallExpr:
		return f.carrier(n)
	case *ast.SetCollationExpr:
		return f.postfixOf(n)
	}
	return val{}, f.internal("unexpected expression %T", n)
}

var binaryOps = map[opcode.Op]tree.BinaryOp{
	opcode.LogicAnd: tree.OpAnd, opcode.LogicOr: tree.OpOr,
	opcode.EQ: tree.OpEq, opcode.NE: tree.OpNe, opcode.LT: tree.OpLt, opcode.LE: tree.OpLe, opcode.GT: tree.OpGt, opcode.GE: tree.OpGe,
	opcode.Plus: tree.OpAdd, opcode.Minus: tree.OpSub, opcode.Mul: tree.OpMul, opcode.Div: tree.OpDiv, opcode.Mod: tree.OpMod,
}

func isComparison(n ast.ExprNode) bool {
	b, ok := n.(*ast.BinaryOperationExpr)
	return ok && binaryOps[b.Op].IsComparison()
}

func (f *fragment) binary(n *ast.BinaryOperationExpr) (val, error) {
	switch n.Op {
	case opcode.Or, opcode.Xor, opcode.NullEQ:
		return f.carriedOf(n)
	}
	op, ok := binaryOps[n.Op]
	if !ok {
		return val{}, f.internal("unexpected operator %s", n.Op)
	}
	l, err := f.decode(n.L)
	if err != nil {
		return val{}, err
	}
	if op.IsComparison() {
		// PostgreSQL's comparisons do not associate.
		if isComparison(n.L) || isComparison(n.R) {
			e := f.p.unexpectedAt(l.hi)
			e.Hint = "Put brackets round one of the comparisons."
			return val{}, e.Error
		}
		if m := f.peekMark(n.R); m != nil && m.kind == mQuantified {
			if m.used {
				return val{}, f.internal("a mark came back twice")
			}
			m.used = true
			return val{&tree.QuantifiedExpr{
				Span: f.p.span(l.lo, m.hi), X: l.expr, Op: op, OpPos: f.p.pos(l.hi),
				All: m.all, Query: m.query, Array: m.expr,
			}, l.lo, m.hi}, nil
		}
	}
	r, err := f.decode(n.R)
	if err != nil {
		return val{}, err
	}
	return val{&tree.BinaryExpr{Span: f.p.span(l.lo, r.hi), Op: op, OpPos: f.p.pos(l.hi), L: l.expr, R: r.expr}, l.lo, r.hi}, nil
}

// carriedOf decodes (L carrier mark) carrier R.
func (f *fragment) carriedOf(n *ast.BinaryOperationExpr) (val, error) {
	inner, ok := n.L.(*ast.BinaryOperationExpr)
	if !ok || inner.Op != n.Op {
		return val{}, f.internal("a carried operator came apart")
	}
	name, ok := inner.R.(*ast.ColumnNameExpr)
	if !ok {
		return val{}, f.internal("a carried operator has no mark")
	}
	m, err := f.take(name.Name.Name.O, mOp)
	if err != nil {
		return val{}, err
	}
	l, err := f.decode(inner.L)
	if err != nil {
		return val{}, err
	}
	r, err := f.decode(n.R)
	if err != nil {
		return val{}, err
	}
	s, at := f.p.span(l.lo, r.hi), f.p.pos(m.lo)
	var e tree.Expr
	switch m.op {
	case opConcat, opJSONGet, opJSONGetText:
		if n.Op != opcode.Or {
			return val{}, f.internal("a mark came back under another operator")
		}
		e = &tree.BinaryExpr{Span: s, Op: tree.OpConcat + tree.BinaryOp(m.op-opConcat), OpPos: at, L: l.expr, R: r.expr}
	case opDistinct, opNotDistinct:
		if n.Op != opcode.NullEQ {
			return val{}, f.internal("a mark came back under another operator")
		}
		e = &tree.DistinctExpr{Span: s, L: l.expr, R: r.expr, Not: m.op == opNotDistinct, OpPos: at}
	case opAtTimeZone:
		if n.Op != opcode.Xor {
			return val{}, f.internal("a mark came back under another operator")
		}
		e = &tree.AtTimeZoneExpr{Span: s, X: l.expr, Zone: r.expr, OpPos: at}
	}
	return val{e, l.lo, r.hi}, nil
}

func (f *fragment) unary(n *ast.UnaryOperationExpr) (val, error) {
	v, err := f.decode(n.V)
	if err != nil {
		return val{}, err
	}
	u := &tree.UnaryExpr{X: v.expr, Span: f.p.span(v.lo-1, v.hi)}
	switch n.Op {
	case opcode.Minus:
		u.Op = tree.OpNeg
	case opcode.Plus:
		u.Op = tree.OpPlus
	case opcode.Not:
		u.Op = tree.OpNot
	default:
		return val{}, f.internal("unexpected operator %s", n.Op)
	}
	return val{u, v.lo - 1, v.hi}, nil
}

// isTest decodes IS …; the tokens tell UNKNOWN from NULL, which TiDB does not.
func (f *fragment) isTest(n ast.ExprNode, test tree.IsTest, not bool) (val, error) {
	v, err := f.decode(n)
	if err != nil {
		return val{}, err
	}
	hi := v.hi + 1
	if f.p.toks[v.hi].up == "IS" {
		if hi++; not {
			hi++
		}
		if f.p.toks[hi-1].up == "UNKNOWN" {
			test = tree.IsUnknown
		}
	}
	return val{&tree.IsExpr{Span: f.p.span(v.lo, hi), X: v.expr, Test: test, Not: not}, v.lo, hi}, nil
}

func (f *fragment) in(n *ast.PatternInExpr) (val, error) {
	if n.Sel != nil || len(n.List) == 0 {
		return val{}, f.internal("unexpected query after IN")
	}
	v, err := f.decode(n.Expr)
	if err != nil {
		return val{}, err
	}
	open := v.hi + 1
	if n.Not {
		open++
	}
	hi := f.p.toks[open].match + 1
	if hi <= 0 {
		return val{}, f.internal("IN came back elsewhere")
	}
	e := &tree.InExpr{Span: f.p.span(v.lo, hi), X: v.expr, Not: n.Not}
	if m := f.peekMark(n.List[0]); m != nil && m.kind == mIn {
		if m.used || len(n.List) > 1 {
			return val{}, f.internal("unexpected list after IN")
		}
		m.used = true
		e.Query = m.query
		return val{e, v.lo, hi}, nil
	}
	if e.List, err = f.decodeAll(n.List); err != nil {
		return val{}, err
	}
	return val{e, v.lo, hi}, nil
}

func (f *fragment) decodeAll(nodes []ast.ExprNode) ([]tree.Expr, error) {
	out := make([]tree.Expr, 0, len(nodes))
	for _, n := range nodes {
		v, err := f.decode(n)
		if err != nil {
			return nil, err
		}
		out = append(out, v.expr)
	}
	return out, nil
}

func (f *fragment) like(n *ast.PatternLikeOrIlikeExpr) (val, error) {
	v, err := f.decode(n.Expr)
	if err != nil {
		return val{}, err
	}
	m, p, err := f.wrap(n.Pattern)
	if err != nil {
		return val{}, err
	}
	return val{&tree.LikeExpr{
		Span: f.p.span(v.lo, m.hi), X: v.expr, Pattern: p.expr, Escape: m.like.escape,
		CaseInsensitive: !n.IsLike, Not: n.Not,
	}, v.lo, m.hi}, nil
}

// wrap decodes an operand inside an mWrap carrier.
func (f *fragment) wrap(n ast.ExprNode) (*mark, val, error) {
	call, ok := n.(*ast.FuncCallExpr)
	if !ok || len(call.Args) != 1 {
		return nil, val{}, f.internal("an operand lost its carrier")
	}
	m, err := f.take(call.FnName.O, mWrap)
	if err != nil {
		return nil, val{}, err
	}
	v, err := f.decode(call.Args[0])
	return m, v, err
}

func (f *fragment) betweenOf(n *ast.BetweenExpr) (val, error) {
	v, err := f.decode(n.Expr)
	if err != nil {
		return val{}, err
	}
	_, lo, err := f.wrap(n.Left)
	if err != nil {
		return val{}, err
	}
	_, hi, err := f.wrap(n.Right)
	if err != nil {
		return val{}, err
	}
	return val{&tree.BetweenExpr{Span: f.p.span(v.lo, hi.hi), X: v.expr, Low: lo.expr, High: hi.expr, Not: n.Not}, v.lo, hi.hi}, nil
}

func (f *fragment) caseOf(n *ast.CaseExpr) (val, error) {
	c := &tree.CaseExpr{}
	lo := -1
	part := func(n ast.ExprNode) (tree.Expr, int, error) {
		v, err := f.decode(n)
		if err == nil && lo < 0 {
			lo = v.lo
		}
		return v.expr, v.hi, err
	}
	var err error
	if n.Value != nil {
		if c.Operand, _, err = part(n.Value); err != nil {
			return val{}, err
		}
		lo--
	}
	hi := 0
	for _, w := range n.WhenClauses {
		var when tree.When
		if when.Cond, _, err = part(w.Expr); err != nil {
			return val{}, err
		}
		if when.Then, hi, err = part(w.Result); err != nil {
			return val{}, err
		}
		c.Whens = append(c.Whens, when)
	}
	if n.ElseClause != nil {
		if c.Else, hi, err = part(n.ElseClause); err != nil {
			return val{}, err
		}
	}
	if n.Value == nil {
		lo -= 2
	}
	if lo < 0 || f.p.toks[lo].up != "CASE" || f.p.toks[hi].up != "END" {
		return val{}, f.internal("CASE came back elsewhere")
	}
	c.Span = f.p.span(lo, hi+1)
	return val{c, lo, hi + 1}, nil
}
