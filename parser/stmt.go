package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser/tree"
)

// statement reads one statement by its first words.
func (p *parser) statement() (tree.Statement, error) {
	lo := p.i
	if p.startsQuery() {
		return p.queryOrInsert(lo)
	}
	if t := p.cur(); t.kind != tWord {
		return nil, p.unexpected().expecting("a statement")
	}
	switch p.cur().up {
	case "CREATE":
		return p.create()
	case "INSERT":
		return p.insert(lo, nil)
	case "EXPLAIN":
		return p.explain()
	case "DESCRIBE", "DESC":
		p.i++
		p.word("TABLE")
		q, err := p.qualifiedName("a table")
		return &tree.Describe{Span: p.span(lo, p.i), Name: q}, err
	case "SHOW":
		return p.show()
	case "SET":
		return p.set()
	case "RESET":
		return p.reset()
	case "DROP":
		return p.drop()
	case "STOP", "CANCEL", "PAUSE", "RESUME":
		return p.jobCommand()
	case "SNAPSHOT":
		return p.snapshot()
	case "RESTORE":
		return p.restore()
	case "BEGIN":
		if !p.peekWord(1, "STATEMENT") {
			return nil, p.noTransactions()
		}
		p.i++
		if err := p.expectWord("STATEMENT", "SET"); err != nil {
			return nil, err
		}
		return &tree.BeginStatementSet{Span: p.span(lo, p.i)}, nil
	case "COMMIT", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE":
		return nil, p.noTransactions()
	case "END":
		if p.peekWord(1, "TRANSACTION", "WORK") {
			return nil, p.noTransactions()
		}
		p.i++
		return &tree.EndStatementSet{Span: p.span(lo, p.i)}, nil
	case "ALTER", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "GRANT", "REVOKE", "USE", "ANALYZE", "VACUUM",
		"START", "PREPARE", "EXECUTE", "DECLARE", "CALL", "REPLACE", "UPSERT":
		if p.isWord("START", "TRANSACTION") {
			return nil, p.noTransactions()
		}
		return nil, sqlerr.NotSupported(p.pos(lo), p.cur().up)
	}
	e := p.unexpected()
	if near := sqlerr.Nearest(p.cur().val, statementWords); near != "" && e.Hint == "" {
		e.Hint = `Did you mean "` + near + `"?`
	}
	return nil, e.Error
}

// noTransactions is the refusal of a statement that begins or ends a transaction.
func (p *parser) noTransactions() error {
	what := p.cur().up
	if p.peekWord(1, "TRANSACTION", "WORK") {
		what += " " + p.peek(1).up
	}
	e := sqlerr.New(sqlerr.CodeNotSupported, p.pos(p.i), "%s is not supported: streams have no transactions", what)
	if what == "SAVEPOINT" {
		return e.WithHint("SNAPSHOT JOB name makes a savepoint of a job.")
	}
	return e.WithHint("A job writes what belongs to one checkpoint as a whole; BEGIN STATEMENT SET … END makes one job of several INSERTs.")
}

var statementWords = strings.Fields(`SELECT WITH VALUES CREATE INSERT EXPLAIN DESCRIBE SHOW SET RESET DROP STOP CANCEL
	PAUSE RESUME SNAPSHOT RESTORE BEGIN END`)

// queryOrInsert reads a query statement, or WITH … INSERT.
func (p *parser) queryOrInsert(lo int) (tree.Statement, error) {
	if p.isWord("WITH") {
		save := p.i
		ctes, err := p.with()
		if err != nil {
			return nil, err
		}
		if p.isWord("INSERT") {
			return p.insert(lo, ctes)
		}
		p.i = save
	}
	q, err := p.statementQuery()
	if err != nil {
		return nil, err
	}
	return &tree.QueryStmt{Span: p.span(lo, p.i), Query: q}, nil
}

// insert reads INSERT INTO table [(columns)] query. ctes are those of a WITH that
// stood in front.
func (p *parser) insert(lo int, ctes []tree.CTE) (tree.Statement, error) {
	p.i++
	if p.isWord("OVERWRITE") {
		return nil, sqlerr.NotSupported(p.pos(p.i), "INSERT OVERWRITE")
	}
	if err := p.expectWord("INTO"); err != nil {
		return nil, err
	}
	s := &tree.Insert{}
	var err error
	if s.Table, err = p.qualifiedName("a table"); err != nil {
		return nil, err
	}
	if p.isOp("(") && !p.isQueryBracket(p.i) {
		if s.Columns, err = p.nameList(); err != nil {
			return nil, err
		}
	}
	if p.isWord("DEFAULT") || p.isWord("OVERRIDING") {
		return nil, sqlerr.NotSupported(p.pos(p.i), p.cur().up+" in INSERT")
	}
	if !p.startsQuery() {
		return nil, p.unexpected().expecting("a query or VALUES")
	}
	if s.Query, err = p.statementQuery(); err != nil {
		return nil, err
	}
	if ctes != nil {
		if s.Query.With != nil {
			return nil, sqlerr.New(sqlerr.CodeSyntax, s.Query.Pos, "multiple WITH clauses not allowed")
		}
		s.Query.With = ctes
	}
	if p.isWord("ON", "CONFLICT") || p.isWord("RETURNING") || p.isWord("ON", "DUPLICATE") {
		return nil, sqlerr.NotSupported(p.pos(p.i), p.cur().up+" in INSERT")
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

// explain reads EXPLAIN [(FORMAT f)] [ANALYZE] statement and EXPLAIN UPGRADE.
func (p *parser) explain() (tree.Statement, error) {
	lo := p.i
	p.i++
	if p.isWord("UPGRADE") && !p.peekOp(1, "(") {
		return p.explainUpgrade(lo)
	}
	e := &tree.Explain{}
	if p.isOp("(") && !p.isQueryBracket(p.i) {
		if err := p.explainOptions(e); err != nil {
			return nil, err
		}
	}
	if p.word("ANALYZE") || p.word("ANALYSE") {
		e.Analyze = true
	}
	p.word("PLAN", "FOR")
	at := p.i
	var err error
	switch {
	case p.startsQuery():
		e.Stmt, err = p.queryOrInsert(at)
	case p.isWord("INSERT"):
		e.Stmt, err = p.insert(at, nil)
	case p.isWord("CREATE"):
		if e.Stmt, err = p.create(); err == nil {
			if _, ok := e.Stmt.(*tree.CreateSink); !ok {
				err = sqlerr.NotSupported(p.pos(at), "EXPLAIN of anything but a query, INSERT or CREATE SINK … AS")
			}
		}
	default:
		return nil, p.unexpected().expecting("a query or INSERT")
	}
	if err != nil {
		return nil, err
	}
	e.Span = p.span(lo, p.i)
	return e, nil
}

func (p *parser) explainOptions(e *tree.Explain) error {
	p.i++
	for {
		switch {
		case p.word("FORMAT"):
			formats := map[string]tree.ExplainFormat{"TEXT": tree.ExplainText, "JSON": tree.ExplainJSON, "DOT": tree.ExplainDot, "MERMAID": tree.ExplainMermaid}
			fm, ok := formats[strings.ToUpper(p.cur().val)]
			if !ok || p.cur().kind == tOp {
				return p.unexpected().expecting("TEXT, JSON, DOT or MERMAID")
			}
			p.i++
			e.Format = fm
		case p.word("ANALYZE"), p.word("ANALYSE"):
			e.Analyze = true
		default:
			return p.unexpected().expecting("FORMAT or ANALYZE")
		}
		if !p.op(",") {
			return p.expectOp(")")
		}
	}
}

func (p *parser) explainUpgrade(lo int) (tree.Statement, error) {
	p.i++
	s := &tree.ExplainUpgrade{}
	var err error
	if s.File, err = p.stringArg("a file"); err != nil {
		return nil, err
	}
	if err := p.expectWord("FROM", "SAVEPOINT"); err != nil {
		return nil, err
	}
	if s.Savepoint, err = p.stringArg("a savepoint"); err != nil {
		return nil, err
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

// stringArg reads a string, or bare words joined by dots, slashes and minus signs
// without blanks between.
func (p *parser) stringArg(what string) (tree.StringArg, error) {
	lo := p.i
	switch p.cur().kind {
	case tString, tQuoted:
		p.i++
		return tree.StringArg{Span: p.span(lo, p.i), Value: p.toks[lo].val}, nil
	case tWord:
		p.i++
		for end := p.toks[lo].end; p.cur().off == end && p.pathPart(); p.i++ {
			end = p.cur().end
		}
		return tree.StringArg{Span: p.span(lo, p.i), Value: p.text[p.toks[lo].off:p.toks[p.i-1].end]}, nil
	}
	return tree.StringArg{}, p.unexpected().expecting(what)
}

func (p *parser) pathPart() bool {
	t := p.cur()
	return t.kind == tWord || t.kind == tNumber || t.kind == tOp && (t.val == "." || t.val == "-" || t.val == "/")
}

// show reads SHOW ….
func (p *parser) show() (tree.Statement, error) {
	lo := p.i
	p.i++
	s := &tree.Show{}
	if p.word("CREATE", "TABLE") || p.word("CREATE", "VIEW") || p.word("CREATE", "SINK") {
		s.Kind = tree.ShowCreateTable
		q, err := p.qualifiedName("a table")
		if err != nil {
			return nil, err
		}
		s.Table = &q
		s.Span = p.span(lo, p.i)
		return s, nil
	}
	for kind, words := range [...]string{"TABLES", "VIEWS", "JOBS", "FUNCTIONS", "CONNECTORS", "SAVEPOINTS", "CHECKPOINTS", "SETTINGS"} {
		if !p.isWord(words) {
			continue
		}
		p.i++
		s.Kind = tree.ShowKind(kind)
		if s.Kind == tree.ShowCheckpoints && p.word("FOR") {
			if !p.isWord("JOB") || p.peek(1).kind == tWord || p.peek(1).kind == tString || p.peek(1).kind == tQuoted {
				p.word("JOB")
			}
			j, err := p.stringArg("a job")
			if err != nil {
				return nil, err
			}
			s.Job = &j
		}
		s.Span = p.span(lo, p.i)
		return s, nil
	}
	if p.isWord("QUERIES") {
		p.i++
		return &tree.Show{Span: p.span(lo, p.i), Kind: tree.ShowJobs}, nil
	}
	return nil, p.unexpected().expecting("TABLES, VIEWS, JOBS, FUNCTIONS, CONNECTORS, SAVEPOINTS, CHECKPOINTS, SETTINGS or CREATE TABLE")
}

// set reads SET key = value and SET key TO value.
func (p *parser) set() (tree.Statement, error) {
	lo := p.i
	p.i++
	s := &tree.Set{}
	var err error
	if s.Key, s.KeyPos, err = p.optionKey(); err != nil {
		return nil, err
	}
	if !p.op("=") && !p.word("TO") {
		return nil, p.unexpected().expecting(`"="`)
	}
	if s.Value, s.ValuePos, err = p.optionValue(); err != nil {
		return nil, err
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

func (p *parser) reset() (tree.Statement, error) {
	lo := p.i
	p.i++
	s := &tree.Reset{}
	if p.isWord("ALL") {
		s.KeyPos = p.pos(p.i)
		p.i++
	} else {
		var err error
		if s.Key, s.KeyPos, err = p.optionKey(); err != nil {
			return nil, err
		}
	}
	s.Span = p.span(lo, p.i)
	return s, nil
}

// optionKey reads 'a.b-c' or words joined by dots and minus signs.
func (p *parser) optionKey() (string, sqlerr.Pos, error) {
	at := p.pos(p.i)
	a, err := p.stringArg("a key")
	if err == nil && a.Value == "" {
		err = sqlerr.New(sqlerr.CodeSyntax, at, "the key is empty")
	}
	return a.Value, at, err
}

// optionValue reads a string, a number with sign, or a word.
func (p *parser) optionValue() (string, sqlerr.Pos, error) {
	at := p.pos(p.i)
	sign := ""
	if p.isOp("-") && p.peek(1).kind == tNumber {
		sign = "-"
		p.i++
	}
	t := p.cur()
	if t.kind == tNumber {
		p.i++
		return sign + t.val, at, nil
	}
	a, err := p.stringArg("a value")
	return a.Value, at, err
}
