package sql

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// kind is a family of types that the generator of queries tells apart.
type kind int

const (
	kBool kind = iota
	kInt
	kDec
	kFloat
	kText
	kDate
	kTime
	kStamp
	kStampTZ
	kInterval
	kinds
)

// column is a column or expression of a known kind. Rough values agree with PostgreSQL
// only in their first digits: quotients, floating point.
type column struct {
	text  string
	kind  kind
	rough bool
}

// scope is what an expression may refer to.
type scope []column

// columnTypes are the declared types of each kind; intervals come from expressions.
var columnTypes = [kinds][]string{
	kBool:    {"BOOLEAN"},
	kInt:     {"SMALLINT", "INT", "BIGINT"},
	kDec:     {"DECIMAL(8,2)", "DECIMAL(12,0)", "DECIMAL(15,5)"},
	kFloat:   {"DOUBLE PRECISION", "REAL"},
	kText:    {"VARCHAR", "TEXT", "VARCHAR(40)"},
	kDate:    {"DATE"},
	kTime:    {"TIME"},
	kStamp:   {"TIMESTAMP(3)", "TIMESTAMP(6)"},
	kStampTZ: {"TIMESTAMP(3) WITH TIME ZONE", "TIMESTAMPTZ"},
}

// generator makes tables, rows and queries that mean the same here and in PostgreSQL.
type generator struct {
	*rand.Rand
	tables []genTable
	// hard tables hold the extremes of integers: expressions over them overflow.
	hard bool
}

type genTable struct {
	name    string
	columns string
	scope   scope
	rows    []string // JSON
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 77))}
	g.hard = g.one(8)
	return g
}

func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// table adds a table of random columns and rows.
func (g *generator) table(name string) {
	t := genTable{name: name}
	var decl, types []string
	for i := range 4 + g.IntN(6) {
		k := kind(g.IntN(int(kInterval)))
		if i == 0 {
			k = kInt
		}
		typ := pick(g, columnTypes[k]...)
		c := fmt.Sprintf("%s%d", string("bidftxyzw"[k]), i)
		decl, types = append(decl, c+" "+typ), append(types, typ)
		t.scope = append(t.scope, column{text: c, kind: k, rough: k == kFloat})
	}
	t.columns = strings.Join(decl, ", ")
	for range pick(g, 0, 1, 5, 20, 20, 40, 40) {
		var fields []string
		for i, c := range t.scope {
			if g.one(8) {
				if g.one(2) {
					fields = append(fields, fmt.Sprintf("%q:null", c.text))
				}
				continue
			}
			fields = append(fields, fmt.Sprintf("%q:%s", c.text, g.json(c.kind, types[i])))
		}
		t.rows = append(t.rows, "{"+strings.Join(fields, ",")+"}")
	}
	g.tables = append(g.tables, t)
}

var words = []string{"", "a", "b", "A", "ab", "abc", "Abc", "aXb", "a b", " a", "a%c", "a_c", "x,y,z", "日本", "日本語abc", "é", "42", "-7", "1.5", "it's", `q"q`, "/a/b/c", "0", "zz", "aaab"}

// json is a value of a column as JSON.
func (g *generator) json(k kind, typ string) string {
	switch k {
	case kBool:
		return pick(g, "true", "false")
	case kInt:
		if g.hard && g.one(20) {
			return map[string]string{"SMALLINT": pick(g, "32767", "-32768"), "INT": pick(g, "2147483647", "-2147483648"),
				"BIGINT": pick(g, "9223372036854775807", "-9223372036854775808", "9007199254740993")}[typ]
		}
		return fmt.Sprint(g.IntN(25) - 8)
	case kDec:
		switch typ {
		case "DECIMAL(12,0)":
			return fmt.Sprint(g.IntN(2000) - 1000)
		case "DECIMAL(15,5)":
			return fmt.Sprintf("%d.%05d", g.IntN(40)-20, g.IntN(4)*12345)
		}
		return fmt.Sprintf("%d.%02d", g.IntN(20)-5, g.IntN(4)*25)
	case kFloat:
		if typ == "REAL" {
			return fmt.Sprint(float64(g.IntN(200)-100) / 8)
		}
		return pick(g, fmt.Sprint(float64(g.IntN(2000)-1000)/16), "0.1", "1e10", "-0.0", "2.5e-3", "3")
	case kText:
		return quoteJSON(pick(g, words...))
	case kDate:
		return `"` + g.date() + `"`
	case kTime:
		return `"` + g.time() + `"`
	case kStamp:
		return fmt.Sprintf(`"%sT%s"`, g.date(), g.time())
	case kStampTZ:
		return fmt.Sprintf(`"%sT%s%s"`, g.date(), g.time(), pick(g, "Z", "+02:00", "-05:30"))
	}
	panic("no such column")
}

func quoteJSON(s string) string {
	return `"` + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`) + `"`
}

func quoteSQL(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (g *generator) date() string {
	return pick(g, "2024-02-29", "2024-01-31", "2023-12-31", "2024-03-31", "1969-12-31", "1970-01-01", "2000-01-01", "1900-02-28",
		fmt.Sprintf("2024-%02d-%02d", 1+g.IntN(12), 1+g.IntN(28)))
}

func (g *generator) time() string {
	s := pick(g, "00:00:00", "23:59:59", "12:00:00", fmt.Sprintf("%02d:%02d:%02d", g.IntN(24), g.IntN(60), g.IntN(60)))
	return s + pick(g, "", "", ".5", ".999", ".001")
}

// literal is a constant of a kind.
func (g *generator) literal(k kind) column {
	c := column{kind: k}
	switch k {
	case kBool:
		c.text = pick(g, "TRUE", "FALSE")
	case kInt:
		c.text = pick(g, "0", "1", "2", "3", "7", "10", "(-1)", "(-3)", "100")
	case kDec:
		c.text = pick(g, "0.5", "1.25", "10.0", "(-0.01)", "100.125")
	case kFloat:
		c.text, c.rough = "CAST("+pick(g, "0.5", "2", "-1.25", "1e3")+" AS DOUBLE PRECISION)", true
	case kText:
		c.text = quoteSQL(pick(g, words...))
	case kDate:
		c.text = "DATE '" + g.date() + "'"
	case kTime:
		c.text = "TIME '" + g.time() + "'"
	case kStamp:
		c.text = "TIMESTAMP '" + g.date() + " " + g.time() + "'"
	case kStampTZ:
		c.text = "TIMESTAMP WITH TIME ZONE '" + g.date() + " " + g.time() + pick(g, "Z", "+02") + "'"
	case kInterval:
		c.text = "INTERVAL '" + pick(g, "1 day", "1 month", "90 minutes", "2 years 3 months", "1 day 02:03:04", "0.5 seconds", "-3 hours") + "'"
	}
	return c
}

// leaf is a column of the scope or a literal. Beside a literal an untyped NULL would
// take its type from what surrounds it, so NULLs are typed.
func (g *generator) leaf(s scope, k kind) column {
	var fit []column
	for _, c := range s {
		if c.kind == k {
			fit = append(fit, c)
		}
	}
	if len(fit) > 0 && !g.one(5) {
		return pick(g, fit...)
	}
	if g.one(12) {
		return column{text: "CAST(NULL AS " + castName[k] + ")", kind: k, rough: k == kFloat}
	}
	return g.literal(k)
}

var castName = [kinds]string{"BOOLEAN", "BIGINT", "DECIMAL(10,2)", "DOUBLE PRECISION", "VARCHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL"}

// kind is mostly one that the scope has.
func (g *generator) kind(s scope) kind {
	if g.one(5) {
		return kind(g.IntN(int(kinds)))
	}
	return pick(g, s...).kind
}

// call fills the expressions into the verbs of a format; rough says that the result is
// only near PostgreSQL's even for exact arguments.
func call(k kind, rough bool, format string, args ...column) column {
	texts := make([]any, len(args))
	for i, a := range args {
		texts[i] = a.text
		rough = rough || a.rough && k != kBool && k != kText
	}
	return column{text: fmt.Sprintf(format, texts...), kind: k, rough: rough || k == kFloat}
}

// expr is a random expression of a kind. exact forbids what is only near PostgreSQL's
// answer, for places where a small difference becomes a large one.
func (g *generator) expr(s scope, k kind, depth int, exact bool) column {
	for {
		c := g.try(s, k, depth, exact)
		if !exact || !c.rough || k == kFloat && isLeaf(s, c) {
			return c
		}
		if depth > 0 {
			depth--
		}
	}
}

func isLeaf(s scope, c column) bool { return isColumn(s, c) || strings.HasPrefix(c.text, "CAST(") }

func (g *generator) try(s scope, k kind, depth int, exact bool) column {
	if depth == 0 {
		return g.leaf(s, k)
	}
	e := func(k kind) column { return g.expr(s, k, depth-1, exact) }
	if g.one(6) {
		return g.choice(s, k, depth, exact)
	}
	switch k {
	case kBool:
		return g.condition(s, depth)
	case kInt:
		switch g.IntN(14) {
		case 11:
			return call(k, false, "STRPOS(%s, %s)", e(kText), g.literal(kText))
		case 12:
			return call(k, false, "CAST(EXTRACT("+pick(g, "YEAR FROM %s)", "MONTH FROM %s)", "DAY FROM %s)", "EPOCH FROM %s) / 1000")+" AS BIGINT)", e(pick(g, kDate, kStampTZ, kInterval, kStamp)))
		case 0, 1, 2:
			return call(k, false, "(%s "+pick(g, "+", "-", "*")+" %s)", e(k), e(k))
		case 3:
			return call(k, false, "(%s "+pick(g, "/", "%%")+" NULLIF(%s, 0))", e(k), e(k))
		case 4:
			return call(k, false, "ABS(%s)", e(k))
		case 5:
			return call(k, false, pick(g, "CHAR_LENGTH", "OCTET_LENGTH", "ASCII")+"(%s)", e(kText))
		case 6:
			return call(k, false, "(- %s)", e(k))
		case 7:
			return call(k, false, "POSITION(%s IN %s)", g.literal(kText), e(kText))
		case 8:
			return call(k, false, "(%s - %s)", e(kDate), e(kDate))
		case 9:
			return call(k, false, "CAST(EXTRACT("+pick(g, "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "DOW", "DOY", "WEEK", "QUARTER")+" FROM %s) AS BIGINT)", e(kStamp))
		case 10:
			return call(k, false, "MOD(%s, 7)", e(k))
		default:
			return call(k, false, "CAST(%s AS "+pick(g, "INT", "BIGINT")+")", e(pick(g, kDec, kInt)))
		}
	case kDec:
		switch g.IntN(9) {
		case 0, 1:
			return call(k, false, "(%s "+pick(g, "+", "-")+" %s)", e(pick(g, kDec, kInt)), e(k))
		case 2:
			return call(k, false, "(%s * %s)", narrow(e(k)), narrow(g.leaf(s, pick(g, kDec, kInt))))
		case 3:
			return call(k, true, "(%s / NULLIF(%s, 0))", e(k), g.leaf(s, pick(g, kDec, kInt)))
		case 4:
			return call(k, false, pick(g, "ABS", "CEIL", "FLOOR", "SIGN", "ROUND", "TRUNC")+"(%s)", e(k))
		case 5:
			return call(k, false, pick(g, "ROUND", "TRUNC")+"(%s, "+pick(g, "1", "0", "3", "-1")+")", e(k))
		case 6:
			return call(k, false, "CAST(%s AS DECIMAL(20,"+pick(g, "0", "1", "4")+"))", e(pick(g, kDec, kInt)))
		case 7:
			return call(k, false, "(%s %% NULLIF(%s, 0))", e(k), e(k))
		default:
			return call(k, false, "(- %s)", e(k))
		}
	case kFloat:
		switch g.IntN(8) {
		case 6:
			return call(k, true, "POWER(%s, 2)", g.leaf(s, k))
		case 7:
			return call(k, true, "(%s * %s)", e(pick(g, kInt, kDec)), g.leaf(s, k))
		case 0, 1:
			return call(k, true, "(%s "+pick(g, "+", "-", "*")+" %s)", e(pick(g, kFloat, kInt, kDec)), g.leaf(s, k))
		case 2:
			return call(k, true, "(%s / NULLIF(%s, 0))", e(k), g.leaf(s, k))
		case 3:
			return call(k, true, "CAST(%s AS DOUBLE PRECISION)", e(pick(g, kInt, kDec)))
		case 4:
			return call(k, true, "SQRT(ABS(%s))", e(k))
		default:
			return call(k, true, pick(g, "ABS", "CEIL", "FLOOR", "SIGN", "ROUND", "TRUNC")+"(%s)", g.leaf(s, k))
		}
	case kText:
		return g.textExpr(s, depth, exact)
	case kDate:
		switch g.IntN(3) {
		case 0:
			return call(k, false, "(%s "+pick(g, "+", "-")+" MOD(CAST(%s AS INT), 100))", e(k), g.leaf(s, kInt))
		case 1:
			return call(k, false, "CAST(%s AS DATE)", e(kStamp))
		default:
			return g.leaf(s, k)
		}
	case kTime:
		if g.one(2) {
			return call(k, false, "CAST(%s AS TIME)", e(kStamp))
		}
		return call(k, false, "(%s + %s)", g.leaf(s, k), g.literal(kInterval))
	case kStamp:
		switch g.IntN(5) {
		case 4:
			return call(k, false, "(%s AT TIME ZONE '"+pick(g, "UTC", "Europe/Berlin", "Asia/Kolkata")+"')", e(kStampTZ))
		case 0, 1:
			return call(k, false, "(%s "+pick(g, "+", "-")+" %s)", e(pick(g, kStamp, kStamp, kDate)), g.literal(kInterval))
		case 2:
			return call(k, false, "DATE_TRUNC('"+pick(g, "year", "quarter", "month", "week", "day", "hour", "minute", "second")+"', %s)", e(k))
		default:
			return call(k, false, "CAST(%s AS TIMESTAMP)", e(kDate))
		}
	case kStampTZ:
		if g.one(3) {
			return call(k, false, "DATE_TRUNC('"+pick(g, "year", "month", "week", "day", "hour")+"', %s)", e(k))
		}
		if g.one(3) {
			return call(k, false, "(%s AT TIME ZONE '"+pick(g, "UTC", "Europe/Berlin", "America/New_York")+"')", e(kStamp))
		}
		return call(k, false, "(%s "+pick(g, "+", "-")+" %s)", e(k), g.literal(kInterval))
	case kInterval:
		switch g.IntN(4) {
		case 0:
			return call(k, false, "(%s - %s)", e(kStamp), e(kStamp))
		case 1:
			return call(k, false, "(%s + %s)", e(k), e(k))
		case 2:
			return call(k, false, "(%s * 2)", e(k))
		default:
			return call(k, false, "(- %s)", e(k))
		}
	}
	panic("no such kind")
}

// narrow bounds the digits of what is not a declared column: a product of more than 38
// digits is rounded here and not in PostgreSQL.
func narrow(c column) column {
	if c.text[0] == 'd' || c.text[0] == 'i' || strings.HasPrefix(c.text, "q.") {
		return c
	}
	return call(kDec, false, "CAST(%s AS DECIMAL(18,4))", c)
}

// choice is an expression whose operands are of the result's kind.
func (g *generator) choice(s scope, k kind, depth int, exact bool) column {
	e := func() column { return g.expr(s, k, depth-1, exact) }
	switch g.IntN(7) {
	case 6:
		x := g.kind(s)
		return call(k, false, "CASE %s WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", g.expr(s, x, depth-1, true), g.leaf(s, x), e(), g.literal(x), e(), e())
	case 0, 1:
		return call(k, false, "CASE WHEN %s THEN %s ELSE %s END", g.expr(s, kBool, depth-1, true), e(), e())
	case 2:
		return call(k, false, "CASE WHEN %s THEN %s END", g.expr(s, kBool, depth-1, true), e())
	case 3:
		return call(k, false, "COALESCE(%s, %s)", e(), e())
	case 4:
		return call(k, false, "NULLIF(%s, %s)", e(), g.leaf(s, k))
	default:
		return call(k, false, pick(g, "GREATEST", "LEAST")+"(%s, %s)", e(), e())
	}
}

func (g *generator) condition(s scope, depth int) column {
	e := func(k kind) column { return g.expr(s, k, depth-1, true) }
	k := g.kind(s)
	switch g.IntN(18) {
	case 14:
		return call(kBool, false, "(%s "+pick(g, "=", "<", ">=", "<>")+" %s)", e(pick(g, kInt, kDec)), e(pick(g, kDec, kFloat)))
	case 15:
		return call(kBool, false, "(%s "+pick(g, "=", "<", ">=")+" %s)", e(kDate), e(pick(g, kStamp, kDate)))
	case 16:
		return call(kBool, false, "STARTS_WITH(%s, "+pick(g, "'a'", "''", "'日'")+")", e(kText))
	case 17:
		return call(kBool, false, pick(g, "(%s ILIKE 'A%%')", "REGEXP_LIKE(%s, '^[a-z]+$')", "(%s LIKE 'a#%%c' ESCAPE '#')"), e(kText))
	case 0, 1, 2, 3:
		return call(kBool, false, "(%s "+pick(g, "=", "<>", "<", "<=", ">", ">=", "=", "<")+" %s)", e(k), e(k))
	case 4, 5:
		return call(kBool, false, "(%s "+pick(g, "AND", "OR")+" %s)", e(kBool), e(kBool))
	case 6:
		return call(kBool, false, "(NOT %s)", e(kBool))
	case 7:
		return call(kBool, false, "(%s IS "+pick(g, "NULL", "NOT NULL")+")", e(k))
	case 8:
		return call(kBool, false, "(%s IS "+pick(g, "", "NOT ")+"DISTINCT FROM %s)", e(k), e(k))
	case 9:
		return call(kBool, false, "(%s "+pick(g, "", "NOT ")+"IN (%s, %s, %s))", e(k), g.leaf(s, k), g.leaf(s, k), g.literal(k))
	case 10:
		return call(kBool, false, "(%s "+pick(g, "", "NOT ")+"BETWEEN %s AND %s)", e(k), g.leaf(s, k), g.leaf(s, k))
	case 11, 12:
		return call(kBool, false, "(%s "+pick(g, "", "NOT ")+"LIKE "+pick(g, "'a%%'", "'%%b'", "'_'", "'%%a%%'", "'a_c'", "'%%'", "'日_'", `'a\%%c'`)+")", e(kText))
	default:
		return call(kBool, false, "(%s IS "+pick(g, "", "NOT ")+pick(g, "TRUE", "FALSE")+")", e(kBool))
	}
}

func (g *generator) textExpr(s scope, depth int, exact bool) column {
	e := func(k kind) column { return g.expr(s, k, depth-1, exact) }
	small := func() column { return call(kInt, false, "MOD(CAST(%s AS INT), 6)", g.leaf(s, kInt)) }
	switch g.IntN(20) {
	case 0:
		return call(kText, false, "(%s || %s)", e(kText), e(kText))
	case 1:
		// In the locale C PostgreSQL changes the case of letters of ASCII only.
		if g.one(2) {
			return call(kText, false, pick(g, "UPPER", "LOWER")+"(REPLACE(%s, 'é', 'e'))", e(kText))
		}
		return call(kText, false, pick(g, "REVERSE", "TRIM", "LTRIM", "RTRIM")+"(%s)", e(kText))
	case 2:
		return call(kText, false, "SUBSTRING(%s FROM %s)", e(kText), small())
	case 3:
		return call(kText, false, "SUBSTRING(%s FROM %s FOR ABS(%s))", e(kText), small(), small())
	case 4:
		return call(kText, false, "REPLACE(%s, %s, %s)", e(kText), g.literal(kText), g.literal(kText))
	case 5:
		return call(kText, false, pick(g, "LEFT", "RIGHT")+"(%s, %s)", e(kText), small())
	case 6:
		return call(kText, false, pick(g, "LPAD", "RPAD")+"(%s, %s, 'xy')", e(kText), small())
	case 7:
		return call(kText, false, "SPLIT_PART(%s, "+pick(g, "','", "'/'", "'a'")+", 1 + ABS(%s))", e(kText), small())
	case 8:
		return call(kText, false, "CONCAT(%s, %s, %s)", e(kText), g.leaf(s, kInt), e(kText))
	case 9:
		return call(kText, false, "CONCAT_WS('-', %s, %s)", e(kText), e(kText))
	case 10:
		return call(kText, false, "CAST(%s AS VARCHAR)", g.exactLeaf(s, pick(g, kInt, kBool, kDate, kStamp, kTime, kStampTZ)))
	case 11:
		return call(kText, false, "OVERLAY(%s PLACING 'Q' FROM 1 + ABS(%s))", e(kText), small())
	case 12:
		return call(kText, false, "REPEAT(%s, %s)", g.leaf(s, kText), small())
	case 13:
		return call(kText, false, "TO_CHAR(%s, 'YYYY-MM-DD HH24:MI:SS.MS')", g.leaf(s, kStamp))
	case 14:
		return call(kText, false, "MD5(%s)", g.leaf(s, kText))
	case 15:
		return call(kText, false, "ENCODE(CAST(REPLACE(%s, '\\', '') AS BYTEA), '"+pick(g, "hex", "base64")+"')", g.leaf(s, kText))
	case 16:
		return call(kText, false, "(CAST(%s AS JSON) ->> "+pick(g, "'a'", "'b'", "'n'")+")", g.literalJSON())
	case 17:
		return call(kText, false, "TRIM("+pick(g, "LEADING", "TRAILING", "BOTH")+" 'a' FROM %s)", e(kText))
	case 18:
		return call(kText, false, "CHR(65 + ABS(%s))", small())
	default:
		return call(kText, false, "REGEXP_REPLACE(%s, '[ab]+', '<\\&>', 'g')", e(kText))
	}
}

func (g *generator) literalJSON() column {
	return column{text: quoteSQL(pick(g, `{"a": 1, "b": "x"}`, `{"a": null}`, `{"n": 9007199254740993, "a": {"b": [1, 2]}}`, `{"a": 1.50, "b": true}`)), kind: kText}
}

func (g *generator) exactLeaf(s scope, k kind) column {
	for {
		if c := g.leaf(s, k); !c.rough {
			return c
		}
	}
}

// query is a SELECT and what its columns are.
type genQuery struct {
	text    string
	columns scope
	changes bool // its rows may be taken back
}

// query makes a query whose FROM nests up to depth.
func (g *generator) query(depth int) genQuery {
	switch {
	case depth > 0 && g.one(6):
		return g.union(depth - 1)
	case g.one(2):
		return g.grouped(depth)
	}
	return g.plain(depth)
}

// from is an entry of FROM: a table, a subquery, or a CTE, which is put before the
// query.
func (g *generator) from(depth int) (with, from string, s scope, changes bool) {
	if depth == 0 || g.one(2) {
		t := pick(g, g.tables...)
		if g.one(3) {
			return "", t.name + " AS q", qualified("q", t.scope), false
		}
		return "", t.name, t.scope, false
	}
	q := g.query(depth - 1)
	if g.one(3) {
		name := fmt.Sprintf("w%d", depth)
		return "WITH " + name + " AS (" + q.text + ") ", name, q.columns, q.changes
	}
	if g.one(2) {
		return "", "(" + q.text + ") AS s", qualified("s", q.columns), q.changes
	}
	return "", "(" + q.text + ") AS s", q.columns, q.changes
}

func qualified(name string, s scope) scope {
	out := make(scope, len(s))
	for i, c := range s {
		out[i] = c
		out[i].text = name + "." + c.text
	}
	return out
}

func (g *generator) where(s scope) string {
	if g.one(2) {
		return ""
	}
	return " WHERE " + g.expr(s, kBool, 1+g.IntN(2), true).text
}

// output names the items c0, c1, … and gives the columns that a query around this one
// sees.
func output(items []column) (list string, s scope) {
	var texts []string
	for i, c := range items {
		name := fmt.Sprintf("c%d", i)
		texts = append(texts, c.text+" AS "+name)
		s = append(s, column{text: name, kind: c.kind, rough: c.rough})
	}
	return strings.Join(texts, ", "), s
}

func (g *generator) plain(depth int) genQuery {
	with, from, s, changes := g.from(depth)
	var items []column
	for range 1 + g.IntN(4) {
		items = append(items, g.expr(s, g.kind(s), g.IntN(4), depth > 0 && g.one(2)))
	}
	list, out := output(items)
	if depth > 0 && g.one(10) {
		list, out = "*", s
		if strings.Contains(s[0].text, ".") {
			return g.plain(depth)
		}
	}
	return genQuery{with + "SELECT " + list + " FROM " + from + g.where(s), out, changes}
}

func (g *generator) grouped(depth int) genQuery {
	with, from, s, changes := g.from(depth)
	var keys, items []column
	for range g.IntN(3) {
		k := g.expr(s, g.kind(s), g.IntN(3), true)
		// A constant is an ordinal, or no key at all.
		if k.rough && !isColumn(s, k) || !refers(s, k.text) {
			continue
		}
		keys = append(keys, k)
		items = append(items, k)
	}
	for range 1 + g.IntN(3) {
		items = append(items, g.aggregate(s, changes))
	}
	dropped := g.one(5)
	if dropped {
		items = items[len(keys):]
	}
	list, out := output(items)
	text := with + "SELECT " + list + " FROM " + from + g.where(s)
	if len(keys) > 0 {
		var by []string
		for i, k := range keys {
			switch {
			case !dropped && g.one(4):
				by = append(by, fmt.Sprint(i+1))
			default:
				by = append(by, k.text)
			}
		}
		text += " GROUP BY " + strings.Join(by, ", ")
	}
	if g.one(3) {
		text += " HAVING " + pick(g, "COUNT(*) > 1", "COUNT(*) <= 2", "SUM("+g.exactLeaf(s, kInt).text+") > 3", "COUNT(*) % 2 = 0")
	}
	return genQuery{text, out, true}
}

func isColumn(s scope, c column) bool {
	for _, x := range s {
		if x.text == c.text {
			return true
		}
	}
	return false
}

func refers(s scope, text string) bool {
	for _, c := range s {
		if strings.Contains(text, c.text) {
			return true
		}
	}
	return false
}

func (g *generator) aggregate(s scope, changes bool) column {
	arg := func(k kind) column { return g.expr(s, k, g.IntN(3), true) }
	distinct := ""
	if g.one(3) {
		distinct = "DISTINCT "
	}
	var c column
	switch g.IntN(13) {
	case 11:
		c = call(kFloat, true, pick(g, "STDDEV_POP", "VAR_SAMP", "STDDEV", "VAR_POP")+"(%s)", arg(pick(g, kInt, kDec)))
	case 0, 1:
		c = column{text: "COUNT(*)", kind: kInt}
	case 2, 3:
		c = call(kInt, false, "COUNT("+distinct+"%s)", arg(g.kind(s)))
	case 4:
		c = call(kDec, false, "SUM("+distinct+"%s)", arg(pick(g, kInt, kDec)))
	case 5:
		c = call(kFloat, true, "SUM(%s)", g.leaf(s, kFloat))
	case 6:
		c = call(kDec, true, "AVG("+distinct+"%s)", arg(pick(g, kInt, kDec)))
	case 7:
		c = call(kFloat, true, "AVG(%s)", g.leaf(s, kFloat))
	case 8, 9, 10:
		// MIN and MAX of rows that may be taken back are not supported yet.
		if changes {
			return g.aggregate(s, changes)
		}
		k := kInt + kind(g.IntN(int(kinds-kInt)))
		c = call(k, k == kFloat, pick(g, "MIN", "MAX")+"(%s)", arg(k))
	default:
		c = call(kBool, false, pick(g, "BOOL_AND", "BOOL_OR")+"(%s)", arg(kBool))
	}
	if g.one(3) {
		c.text += " FILTER (WHERE " + g.expr(s, kBool, 1, true).text + ")"
	}
	if strings.HasPrefix(c.text, "STDDEV") || strings.HasPrefix(c.text, "VAR") {
		// PostgreSQL's spread of integers is numeric, ours DOUBLE: beside a REAL in a UNION
		// the two would become different types.
		c.text = "CAST(" + c.text + " AS DOUBLE PRECISION)"
	}
	return c
}

func (g *generator) union(depth int) genQuery {
	a := g.query(depth)
	parts := []string{a.text}
	out, changes := a.columns, a.changes
	for range 1 + g.IntN(2) {
		with, from, s, ch := g.from(depth)
		changes = changes || ch
		items := make([]column, len(a.columns))
		for i, c := range a.columns {
			items[i] = g.expr(s, c.kind, g.IntN(2), !c.rough)
			if items[i].rough {
				out[i].rough = true
			}
		}
		list, _ := output(items)
		text := "SELECT " + list + " FROM " + from + g.where(s)
		if with != "" {
			text = "SELECT * FROM (" + with + text + ") AS u"
		}
		parts = append(parts, text)
	}
	if strings.HasPrefix(parts[0], "WITH") {
		parts[0] = "SELECT * FROM (" + parts[0] + ") AS u"
	}
	return genQuery{strings.Join(parts, " UNION ALL "), out, changes}
}

// near compares two numbers of which one may be rounded elsewhere.
func near(a, b float64, tolerance float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}
