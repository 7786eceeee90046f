package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// call writes a function call whose name has been read; the cursor is on the bracket.
// Arguments go through TiDB; DISTINCT, ORDER BY, FILTER, WITHIN GROUP and OVER are
// kept in the call's shell.
func (f *fragment) call(lo int, name []tree.Name) error {
	p := f.p
	c := &tree.CallExpr{Name: name}
	n := f.emitCarrier(mark{kind: mCall, lo: lo, expr: c})
	p.i++
	fn := ""
	if len(name) == 1 {
		fn = tree.FoldName(name[0])
	}
	switch {
	case p.isOp("*") && p.peekOp(1, ")"):
		c.Star = true
		p.i++
	case p.word("DISTINCT"):
		c.Distinct = true
	case p.word("ALL"):
	}
	if p.isWord("VARIADIC") {
		return sqlerr.NotSupported(p.pos(p.i), "VARIADIC")
	}
	if (c.Distinct || c.Star && !p.isOp(")")) && p.isOp(")") {
		return p.unexpected().expecting("an expression")
	}
	for args := 0; !p.isOp(")"); args++ {
		if args == 0 && takesUnit[fn] && p.unitArg(f) {
		} else if err := f.expr(levelAll); err != nil {
			return err
		}
		if p.isOp(",") {
			f.emit(p.i, ",")
			p.i++
			if p.isOp(")") {
				return p.unexpected().expecting("an expression")
			}
			continue
		}
		break
	}
	if err := p.callClauses(c, fn, f); err != nil {
		return err
	}
	if !p.isOp(")") {
		return p.unexpected().Error
	}
	f.emit(p.i, ")")
	p.i++
	if err := p.callTail(c); err != nil {
		return err
	}
	c.Span = p.span(lo, p.i)
	f.marks[n-1].hi = p.i
	return nil
}

// takesUnit lists the functions whose first argument may be a bare time unit.
var takesUnit = map[string]bool{"timestampadd": true, "timestampdiff": true}

// unitArg writes the cursor's word as a unit if it is one before a comma.
func (p *parser) unitArg(f *fragment) bool {
	t := p.cur()
	u, ok := unitWords[t.up]
	if t.kind != tWord || !ok || !p.peekOp(1, ",") {
		return false
	}
	p.i++
	f.leaf(p.i-1, &tree.UnitLit{Span: p.span(p.i-1, p.i), Unit: u})
	return true
}

// callClauses reads what may follow the arguments inside the brackets.
func (p *parser) callClauses(c *tree.CallExpr, fn string, f *fragment) error {
	if (fn == "floor" || fn == "ceil" || fn == "ceiling") && p.isWord("TO") {
		u, ok := unitWords[p.peek(1).up]
		if !ok || p.peek(1).kind != tWord {
			return p.unexpectedAt(p.i + 1).expecting("a time unit")
		}
		f.emit(p.i, ",")
		p.i += 2
		f.leaf(p.i-1, &tree.UnitLit{Span: p.span(p.i-1, p.i), Unit: u})
	}
	p.nullTreatment(c)
	if !p.isWord("ORDER", "BY") {
		return nil
	}
	p.i += 2
	s, err := p.sorts()
	c.OrderBy = s
	return err
}

func (p *parser) nullTreatment(c *tree.CallExpr) {
	if p.word("IGNORE", "NULLS") {
		c.IgnoreNulls = true
	} else {
		p.word("RESPECT", "NULLS")
	}
}

// callTail reads WITHIN GROUP, FILTER and OVER after the brackets.
func (p *parser) callTail(c *tree.CallExpr) error {
	fn := tree.JoinNames(c.Name)
	if p.isWord("WITHIN", "GROUP") && p.peekOp(2, "(") {
		if len(c.OrderBy) > 0 || c.Distinct {
			return sqlerr.New(sqlerr.CodeSyntax, p.pos(p.i), "cannot use WITHIN GROUP together with DISTINCT or ORDER BY in the arguments")
		}
		p.i += 3
		if err := p.expectWord("ORDER", "BY"); err != nil {
			return err
		}
		s, err := p.sorts()
		if err != nil {
			return err
		}
		c.WithinGroup = s
		if err := p.expectOp(")"); err != nil {
			return err
		}
	}
	if p.isWord("FILTER") && p.peekOp(1, "(") {
		p.i += 2
		if err := p.expectWord("WHERE"); err != nil {
			return err
		}
		e, err := p.expr()
		if err != nil {
			return err
		}
		c.Filter = e
		if err := p.expectOp(")"); err != nil {
			return err
		}
	}
	p.nullTreatment(c)
	if p.isWord("OVER") {
		at := p.pos(p.i)
		switch {
		case c.Distinct:
			return sqlerr.NotSupported(at, "DISTINCT in a window function")
		case len(c.OrderBy) > 0:
			return sqlerr.NotSupported(at, "ORDER BY in the arguments of a window function")
		case len(c.WithinGroup) > 0:
			return sqlerr.NotSupported(at, "OVER after WITHIN GROUP")
		}
		p.i++
		w, err := p.over()
		if err != nil {
			return err
		}
		c.Over = w
	}
	if c.IgnoreNulls && c.Over == nil {
		switch strings.ToLower(fn) {
		case "first_value", "last_value", "lag", "lead", "nth_value":
		default:
			return sqlerr.NotSupported(c.Name[0].Pos, "IGNORE NULLS of a function that is not a window function")
		}
	}
	return nil
}

// over reads what follows OVER.
func (p *parser) over() (*tree.WindowSpec, error) {
	lo := p.i
	if !p.isOp("(") {
		n, err := p.name("a window name or a bracket")
		if err != nil {
			return nil, err
		}
		return &tree.WindowSpec{Span: p.span(lo, p.i), Name: &n}, nil
	}
	w, err := p.windowSpec()
	return &w, err
}

// windowSpec reads ( [name] [PARTITION BY …] [ORDER BY …] [frame] ).
func (p *parser) windowSpec() (tree.WindowSpec, error) {
	lo := p.i
	var w tree.WindowSpec
	if err := p.expectOp("("); err != nil {
		return w, err
	}
	if p.isName() && !p.isWord("PARTITION", "BY") && !(p.frameWord() && !p.peekOp(1, ")")) {
		n := p.nameAt(p.i)
		p.i++
		w.Ref = &n
	}
	var err error
	if p.word("PARTITION", "BY") {
		if w.PartitionBy, err = p.exprs(); err != nil {
			return w, err
		}
	}
	if p.word("ORDER", "BY") {
		if w.OrderBy, err = p.sorts(); err != nil {
			return w, err
		}
	}
	if p.frameWord() {
		if w.Frame, err = p.frame(); err != nil {
			return w, err
		}
	}
	if err := p.expectOp(")"); err != nil {
		return w, err
	}
	w.Span = p.span(lo, p.i)
	return w, nil
}

func (p *parser) frameWord() bool { return p.isWord("ROWS") || p.isWord("RANGE") || p.isWord("GROUPS") }

func (p *parser) frame() (*tree.Frame, error) {
	lo := p.i
	f := &tree.Frame{End: tree.FrameBound{Kind: tree.CurrentRow}}
	switch p.cur().up {
	case "RANGE":
		f.Mode = tree.FrameRange
	case "GROUPS":
		return nil, sqlerr.NotSupported(p.pos(lo), "a GROUPS frame")
	}
	p.i++
	var err error
	if p.word("BETWEEN") {
		if f.Start, err = p.frameBound(); err != nil {
			return nil, err
		}
		if err := p.expectWord("AND"); err != nil {
			return nil, err
		}
		endAt := p.i
		if f.End, err = p.frameBound(); err != nil {
			return nil, err
		}
		if f.Start.Kind == tree.UnboundedFollowing || f.End.Kind == tree.UnboundedPreceding || f.End.Kind < f.Start.Kind {
			return nil, sqlerr.New(sqlerr.CodeWindowing, p.pos(endAt), "the frame ends before it starts")
		}
	} else {
		at := p.i
		if f.Start, err = p.frameBound(); err != nil {
			return nil, err
		}
		if f.Start.Kind > tree.CurrentRow {
			return nil, sqlerr.New(sqlerr.CodeWindowing, p.pos(at), "a frame starting from a following row cannot end with the current row")
		}
	}
	if p.isWord("EXCLUDE") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "EXCLUDE in a frame")
	}
	f.Span = p.span(lo, p.i)
	return f, nil
}

func (p *parser) frameBound() (tree.FrameBound, error) {
	switch {
	case p.word("UNBOUNDED", "PRECEDING"):
		return tree.FrameBound{Kind: tree.UnboundedPreceding}, nil
	case p.word("UNBOUNDED", "FOLLOWING"):
		return tree.FrameBound{Kind: tree.UnboundedFollowing}, nil
	case p.word("CURRENT", "ROW"):
		return tree.FrameBound{Kind: tree.CurrentRow}, nil
	}
	e, err := p.exprUpTo(levelTight)
	if err != nil {
		return tree.FrameBound{}, err
	}
	switch {
	case p.word("PRECEDING"):
		return tree.FrameBound{Kind: tree.OffsetPreceding, Offset: e}, nil
	case p.word("FOLLOWING"):
		return tree.FrameBound{Kind: tree.OffsetFollowing, Offset: e}, nil
	}
	return tree.FrameBound{}, p.unexpected().expecting("PRECEDING or FOLLOWING")
}
