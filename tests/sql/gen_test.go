package sql

import (
	"fmt"
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
	// hard tables hold values near the limits of their types: expressions over them
	// overflow; floats says that floating point has such values, too.
	hard, floats bool
	// subs are the expressions made so far.
	subs []column
	// parts are the queries made so far.
	parts []string
}

type genTable struct {
	name    string
	columns string
	scope   scope
	rows    []string // JSON
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 77))}
	g.hard = g.one(4)
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
		if g.hard && k == kDec && g.one(2) {
			typ = pick(g, "DECIMAL(38,0)", "DECIMAL(38,18)", "DECIMAL(38,38)", "DECIMAL(19,2)")
		}
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
	if g.hard && g.one(6) {
		if v := g.limit(k, typ); v != "" {
			return v
		}
	}
	switch k {
	case kBool:
		return pick(g, "true", "false")
	case kInt:
		return fmt.Sprint(g.IntN(25) - 8)
	case kDec:
		switch typ {
		case "DECIMAL(12,0)":
			return fmt.Sprint(g.IntN(2000) - 1000)
		case "DECIMAL(15,5)":
			return fmt.Sprintf("%d.%05d", g.IntN(40)-20, g.IntN(4)*12345)
		case "DECIMAL(38,38)":
			return fmt.Sprintf("0.%02d", g.IntN(100))
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

// Constants stand between these marks.
const constFrom, constTo = "\x01", "\x02"

// ours is a generated text as we get it.
var ours = strings.NewReplacer(constFrom, "", constTo, "", whereFrom, "", whereTo, "", postgresOnly, "")

// postgres is a generated text as PostgreSQL gets it: its planner computes constants
// ahead, also those that no row needs, but looks into no subquery; and it moves and
// drops expressions freely, but not across OFFSET, and orders the terms of an AND by
// their costs, but not inside another expression.
var postgres = strings.NewReplacer(constFrom, "(SELECT ", constTo, ")", whereFrom, "(", whereTo, ") IS TRUE", postgresOnly, " OFFSET 0")

// postgresOnly ends a subquery; a condition stands between the other two.
const postgresOnly, whereFrom, whereTo = "\x03", "\x04", "\x05"

// literal is a constant of a kind.
func (g *generator) literal(k kind) column {
	c := g.constant(k)
	c.text = constFrom + c.text + constTo
	return c
}

// easy is a literal far from the limits.
func (g *generator) easy(k kind) column {
	hard := g.hard
	g.hard = false
	defer func() { g.hard = hard }()
	return g.literal(k)
}

func (g *generator) constant(k kind) column {
	c := column{kind: k}
	switch k {
	case kBool:
		c.text = pick(g, "TRUE", "FALSE")
	case kInt:
		c.text = pick(g, "0", "1", "2", "3", "7", "10", "(-1)", "(-3)", "100")
		if g.hard && g.one(8) {
			c.text = pick(g, "32767", "2147483647", "9223372036854775807", "(-9223372036854775807)")
		}
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
		if g.hard && g.one(4) {
			c.text = "INTERVAL '" + pick(g, "290000 years", "2147483647 days", "-2147483648 days", "2147483647 months", "2562047788 hours", "-106751991 days", "9223372036854.775807 seconds") + "'"
			break
		}
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
		return column{text: constFrom + "CAST(NULL AS " + castName[k] + ")" + constTo, kind: k, rough: k == kFloat}
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
