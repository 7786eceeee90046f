package parser

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// selectCore writes SELECT … up to its WINDOW clause.
func (f *fragment) selectCore() error {
	p := f.p
	lo := p.i
	n := len(f.cores)
	f.cores = append(f.cores, core{lo: lo})
	f.emit(lo, "SELECT")
	p.i++
	if p.isWord("DISTINCT") {
		if p.peekWord(1, "ON") {
			return sqlerr.NotSupported(p.pos(p.i), "DISTINCT ON").WithHint("Use ROW_NUMBER() OVER (…) in a subquery and keep row 1.")
		}
		f.emit(p.i, "DISTINCT")
		p.i++
	} else {
		p.word("ALL")
	}
	if p.atEnd() || p.isOp(")") || p.isWord("FROM") {
		return p.unexpected().expecting("a select list")
	}
	for {
		if err := f.selectItem(); err != nil {
			return err
		}
		if !p.isOp(",") {
			break
		}
		f.emit(p.i, ",")
		p.i++
	}
	if p.isWord("INTO") {
		return sqlerr.NotSupported(p.pos(p.i), "SELECT INTO").WithHint("Use INSERT INTO … SELECT.")
	}
	if err := f.fromClause(n); err != nil {
		return err
	}
	if err := f.condition("WHERE"); err != nil {
		return err
	}
	if p.isWord("GROUP") {
		if err := f.groupBy(); err != nil {
			return err
		}
	}
	if err := f.condition("HAVING"); err != nil {
		return err
	}
	if p.isWord("WINDOW") {
		w, err := p.windowClause()
		if err != nil {
			return err
		}
		f.cores[n].windows = w
	}
	if p.isWord("QUALIFY") {
		return sqlerr.NotSupported(p.pos(p.i), "QUALIFY").WithHint("Put the window function in a subquery and filter outside.")
	}
	f.cores[n].hi = p.i
	return nil
}

func (f *fragment) condition(word string) error {
	p := f.p
	if !p.isWord(word) {
		return nil
	}
	f.emit(p.i, word)
	p.i++
	return f.expr(levelAll)
}

// selectItem writes an expression with its alias, or a star.
func (f *fragment) selectItem() error {
	p := f.p
	lo := p.i
	if star := p.star(); star != nil {
		f.emitMark(mark{kind: mStar, lo: lo, hi: p.i, expr: star})
		return nil
	}
	if err := f.expr(levelAll); err != nil {
		return err
	}
	t := p.cur()
	switch {
	case p.word("AS"):
	case t.kind == tQuoted:
	case t.kind == tWord && !needAsWords[t.up] && !p.isEmit():
		if t.up == "QUALIFY" && !p.peekOp(1, ",") {
			return nil
		}
	default:
		return nil
	}
	n, err := p.label()
	if err != nil {
		return err
	}
	f.emit(p.i-1, "AS")
	f.emitMark(mark{kind: mAlias, lo: p.i - 1, hi: p.i, name: n})
	return nil
}

// star reads * or t.*; nil when there is none.
func (p *parser) star() *tree.Star {
	lo := p.i
	i := lo
	var q []tree.Name
	for isNameToken(&p.toks[i]) || i > lo && p.toks[i].kind == tWord {
		if n := &p.toks[i+1]; n.kind != tOp || n.val != "." {
			return nil
		}
		q = append(q, p.nameAt(i))
		i += 2
	}
	if t := &p.toks[i]; t.kind != tOp || t.val != "*" {
		return nil
	}
	p.i = i + 1
	return &tree.Star{Span: p.span(lo, p.i), Qualifier: q}
}

// groupBy writes the GROUP BY list.
func (f *fragment) groupBy() error {
	p := f.p
	f.emit(p.i, "GROUP BY")
	p.i++
	if err := p.expectWord("BY"); err != nil {
		return err
	}
	if p.isWord("DISTINCT") || p.isWord("ALL") {
		return sqlerr.NotSupported(p.pos(p.i), "GROUP BY "+p.cur().up)
	}
	for {
		if p.groupSpecial() {
			lo := p.i
			g, err := p.groupItem()
			if err != nil {
				return err
			}
			f.emitMark(mark{kind: mGroup, lo: lo, hi: p.i, group: g})
		} else if err := f.expr(levelAll); err != nil {
			return err
		}
		if !p.isOp(",") {
			return nil
		}
		f.emit(p.i, ",")
		p.i++
	}
}

// groupSpecial reports (), ROLLUP (…), CUBE (…) or GROUPING SETS (…).
func (p *parser) groupSpecial() bool {
	return p.isOp("(") && p.peekOp(1, ")") || p.isWord("GROUPING", "SETS") ||
		(p.isWord("ROLLUP") || p.isWord("CUBE")) && p.peekOp(1, "(")
}

// groupItem reads one grouping element.
func (p *parser) groupItem() (tree.GroupItem, error) {
	lo := p.i
	if p.isOp("(") && p.peekOp(1, ")") {
		p.i += 2
		return tree.GroupItem{Span: p.span(lo, p.i), Kind: tree.GroupExprs}, nil
	}
	var g tree.GroupItem
	switch {
	case !p.groupSpecial():
		e, err := p.expr()
		if err != nil {
			return g, err
		}
		return groupOf(e), nil
	case p.word("GROUPING", "SETS"):
		g.Kind = tree.GroupSets
	case p.word("ROLLUP"):
		g.Kind = tree.GroupRollup
	case p.word("CUBE"):
		g.Kind = tree.GroupCube
	}
	if err := p.enter(); err != nil {
		return g, err
	}
	defer p.leave()
	if err := p.expectOp("("); err != nil {
		return g, err
	}
	for {
		if g.Kind != tree.GroupSets && p.groupSpecial() {
			return g, p.unexpected().Error
		}
		it, err := p.groupItem()
		if err != nil {
			return g, err
		}
		g.Items = append(g.Items, it)
		if !p.op(",") {
			break
		}
	}
	if err := p.expectOp(")"); err != nil {
		return g, err
	}
	g.Span = p.span(lo, p.i)
	return g, nil
}

// groupOf makes a grouping element of an expression; (a, b) is a set of two.
func groupOf(e tree.Expr) tree.GroupItem {
	g := tree.GroupItem{Span: e.Extent(), Kind: tree.GroupExprs, Exprs: []tree.Expr{e}}
	if r, ok := e.(*tree.RowExpr); ok && !r.Keyword {
		g.Exprs = r.Elems
	}
	return g
}

// windowClause reads WINDOW name AS (spec), ….
func (p *parser) windowClause() ([]tree.NamedWindow, error) {
	p.i++
	var out []tree.NamedWindow
	for {
		n, err := p.name("a window name")
		if err != nil {
			return nil, err
		}
		if err := p.expectWord("AS"); err != nil {
			return nil, err
		}
		spec, err := p.windowSpec()
		if err != nil {
			return nil, err
		}
		for _, o := range out {
			if tree.FoldName(o.Name) == tree.FoldName(n) {
				return nil, sqlerr.New(sqlerr.CodeWindowing, n.Pos, `window "%s" is already defined`, n.Text)
			}
		}
		out = append(out, tree.NamedWindow{Name: n, Spec: spec})
		if !p.op(",") {
			return out, nil
		}
	}
}
