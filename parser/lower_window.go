package parser

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// windowKinds are the windowing table functions, from 1.
var windowKinds = map[string]tree.WindowKind{"TUMBLE": tree.Tumble + 1, "HOP": tree.Hop + 1, "CUMULATE": tree.Cumulate + 1, "SESSION": tree.Session + 1}

func (p *parser) aliasedWindow(lo int) (tree.TableExpr, error) {
	w, err := p.windowTable()
	if err != nil {
		return nil, err
	}
	if w.Alias, err = p.tableAlias(); err != nil {
		return nil, err
	}
	w.Span = p.span(lo, p.i)
	return w, nil
}

// windowTable reads TABLE(TUMBLE(…)) or TUMBLE(…).
func (p *parser) windowTable() (*tree.WindowTable, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	lo := p.i
	wrapped := p.isWord("TABLE")
	if wrapped {
		p.i += 2
	}
	w := &tree.WindowTable{Kind: windowKinds[p.cur().up] - 1}
	p.i += 2
	end := p.toks[p.i-1].match
	if err := p.windowInput(w); err != nil {
		return nil, err
	}
	if err := p.windowKeys(w, end); err != nil {
		return nil, err
	}
	if err := p.expectOp(","); err != nil {
		return nil, err
	}
	if err := p.windowTime(w); err != nil {
		return nil, err
	}
	for p.op(",") {
		e, err := p.expr()
		if err != nil {
			return nil, err
		}
		w.Args = append(w.Args, e)
	}
	if err := p.expectOp(")"); err != nil {
		return nil, err
	}
	if wrapped {
		if err := p.expectOp(")"); err != nil {
			return nil, err
		}
	}
	w.Span = p.span(lo, p.i)
	return w, nil
}

// windowInput reads [TABLE] name, (query) or another window function.
func (p *parser) windowInput(w *tree.WindowTable) error {
	lo := p.i
	if p.isWord("DATA") && p.peekOp(1, "=>") {
		return sqlerr.NotSupported(p.pos(p.i), "a named argument")
	}
	if p.isWord("TABLE") && p.peekOp(1, "(") && !p.isQueryBracket(p.i+1) || windowKinds[p.cur().up] != 0 && p.peekOp(1, "(") {
		if p.isWord("TABLE") && (p.peek(2).kind != tWord || windowKinds[p.peek(2).up] == 0) {
			return p.unexpectedAt(p.i + 2).expecting("TUMBLE, HOP, CUMULATE or SESSION")
		}
		in, err := p.windowTable()
		w.Input = in
		return err
	}
	p.word("TABLE")
	if p.isQueryBracket(p.i) {
		q, err := p.bracketedQuery()
		w.Input = &tree.DerivedTable{Span: p.span(lo, p.i), Query: q}
		return err
	}
	q, err := p.qualifiedName("a table")
	w.Input = &tree.TableRef{Span: q.Span, Name: q}
	return err
}

// windowKeys reads PARTITION BY. The list ends before DESCRIPTOR; in the short form,
// where a column follows instead, several keys need brackets.
func (p *parser) windowKeys(w *tree.WindowTable, end int) error {
	if !p.word("PARTITION", "BY") {
		return nil
	}
	descriptor := false
	for i := p.i; i < end; i++ {
		if t := &p.toks[i]; t.kind == tWord && t.up == "DESCRIPTOR" && p.toks[i-1].val == "," {
			descriptor = true
		}
	}
	for {
		e, err := p.expr()
		if err != nil {
			return err
		}
		if r, ok := e.(*tree.RowExpr); ok && !r.Keyword {
			w.PartitionBy = append(w.PartitionBy, r.Elems...)
		} else {
			w.PartitionBy = append(w.PartitionBy, e)
		}
		if !descriptor || !p.isOp(",") || p.peekWord(1, "DESCRIPTOR") {
			return nil
		}
		p.i++
	}
}

// windowTime reads DESCRIPTOR(column) or column.
func (p *parser) windowTime(w *tree.WindowTable) error {
	bracket := p.isWord("DESCRIPTOR") && p.peekOp(1, "(")
	if bracket {
		p.i += 2
	}
	q, err := p.qualifiedName("the time column")
	if err != nil {
		return err
	}
	w.Time = &tree.ColumnRef{Span: q.Span, Parts: q.Parts}
	if bracket {
		return p.expectOp(")")
	}
	return nil
}
