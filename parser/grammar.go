package parser

import (
	"regexp"
	"strconv"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	// The driver gives TiDB's grammar its value nodes.
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

const sqlMode = mysql.ModeANSIQuotes | mysql.ModePipesAsConcat | mysql.ModeNoBackslashEscapes

// parse gives the fragment's text to TiDB and returns its one statement.
func (f *fragment) parse() (ast.StmtNode, error) {
	if f.p.grammar == nil {
		f.p.grammar = tidb.New()
		f.p.grammar.SetSQLMode(sqlMode)
	}
	stmts, err := safeParse(f.p.grammar, string(f.buf))
	if err != nil {
		// A parser that failed is not used again.
		f.p.grammar = nil
		return nil, f.grammarError(err)
	}
	if len(stmts) != 1 {
		return nil, f.internal("%d statements in a fragment", len(stmts))
	}
	return stmts[0], nil
}

// safeParse keeps a panic of the library from crossing our border.
func safeParse(g *tidb.Parser, text string) (stmts []ast.StmtNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = sqlerr.Internalf("the grammar panicked: %v", r)
		}
	}()
	out, warns, err := g.ParseSQL(text)
	if err == nil && len(warns) > 0 {
		err = warns[0]
	}
	// The slice belongs to g and is overwritten by the next parse.
	return append([]ast.StmtNode(nil), out...), err
}

var (
	nearText    = regexp.MustCompile(`(?s) near "(.*?)" ?$`)
	totalLength = regexp.MustCompile(`\(total length (\d+)\)`)
)

// grammarError maps TiDB's syntax error to the user's token: it quotes the rest of
// the text from the token that it did not like.
func (f *fragment) grammarError(err error) error {
	if e := sqlerr.As(err); e != nil {
		return err
	}
	m := nearText.FindStringSubmatch(err.Error())
	if m == nil {
		return f.internal("unexpected answer of the grammar: %v", err)
	}
	rest := len(m[1])
	if t := totalLength.FindStringSubmatch(err.Error()); t != nil {
		rest, _ = strconv.Atoi(t[1])
	}
	off := len(f.buf) - rest
	tok := f.p.i
	for _, pc := range f.pieces {
		if pc.off <= off {
			tok = pc.tok
		}
	}
	if rest == 0 {
		tok = f.p.i
	}
	e := f.p.unexpectedAt(tok)
	if t := &f.p.toks[tok]; t.kind == tWord {
		switch t.up {
		case "NOT":
			e.Hint = "Put brackets round NOT and its operand."
		case "IN", "LIKE", "ILIKE", "BETWEEN", "IS":
			e.Hint = "Put brackets round the predicate before it."
		}
	}
	return e.Error
}

// internal reports a fault of the lowering: it must never be seen.
func (f *fragment) internal(format string, args ...any) error {
	e := sqlerr.Internalf(format, args...)
	e.Pos = f.p.pos(min(f.p.i, len(f.p.toks)-1))
	return e
}

// take resolves a mark by the name under which it comes back, once.
func (f *fragment) take(name string, kinds ...markKind) (*mark, error) {
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || n > len(f.marks) || strings.HasPrefix(name, "0") {
		return nil, f.internal("unknown mark %q", name)
	}
	m := &f.marks[n-1]
	if m.used {
		return nil, f.internal("mark %d came back twice", n)
	}
	for _, k := range kinds {
		if m.kind == k {
			m.used = true
			return m, nil
		}
	}
	if m.kind == mQuantified {
		return nil, f.p.unexpectedAt(m.lo).Error
	}
	return nil, f.internal("mark %d of kind %d came back in the wrong place", n, m.kind)
}

// peekMark returns the mark of an operand without taking it, or nil.
func (f *fragment) peekMark(e ast.ExprNode) *mark {
	c, ok := e.(*ast.ColumnNameExpr)
	if !ok {
		return nil
	}
	n, err := strconv.Atoi(c.Name.Name.O)
	if err != nil || n < 1 || n > len(f.marks) {
		return nil
	}
	return &f.marks[n-1]
}

// allTaken checks that nothing that was lowered got lost on the way.
func (f *fragment) allTaken() error {
	for i := range f.marks {
		if !f.marks[i].used {
			return f.internal("mark %d of kind %d did not come back", i+1, f.marks[i].kind)
		}
	}
	return nil
}
