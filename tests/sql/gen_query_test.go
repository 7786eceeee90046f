package sql

import (
	"fmt"
	"math"
	"strings"
)

// query is a SELECT and what its columns are.
type genQuery struct {
	text    string
	columns scope
}

// query makes a query whose FROM nests up to depth.
func (g *generator) query(depth int) genQuery {
	var q genQuery
	switch {
	case depth > 0 && g.one(6):
		q = g.union(depth - 1)
	case g.one(2):
		q = g.grouped(depth)
	default:
		q = g.plain(depth)
	}
	g.parts = append(g.parts, q.text)
	return q
}

// from is an entry of FROM: a table, a subquery, or a CTE, which is put before the
// query.
func (g *generator) from(depth int) (with, from string, s scope) {
	if depth == 0 || g.one(2) {
		t := pick(g, g.tables...)
		if g.one(3) {
			return "", t.name + " AS q", qualified("q", t.scope)
		}
		return "", t.name, t.scope
	}
	q := g.query(depth - 1)
	if g.one(3) {
		name := fmt.Sprintf("w%d", depth)
		return "WITH " + name + " AS (" + q.text + postgresOnly + ") ", name, q.columns
	}
	if g.one(2) {
		return "", "(" + q.text + postgresOnly + ") AS s", qualified("s", q.columns)
	}
	return "", "(" + q.text + postgresOnly + ") AS s", q.columns
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
	return " WHERE " + whereFrom + g.expr(s, kBool, 1+g.IntN(2), true).text + whereTo
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
	with, from, s := g.from(depth)
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
	return genQuery{with + "SELECT " + list + " FROM " + from + g.where(s), out}
}

func (g *generator) grouped(depth int) genQuery {
	with, from, s := g.from(depth)
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
		items = append(items, g.aggregate(s))
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
	return genQuery{text, out}
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

func (g *generator) aggregate(s scope) column {
	arg := func(k kind) column { return g.expr(s, k, g.IntN(3), true) }
	distinct := ""
	if g.one(3) {
		distinct = "DISTINCT "
	}
	var c column
	switch g.IntN(13) {
	case 11:
		c = call(kFloat, true, pick(g, "STDDEV_POP", "VAR_SAMP", "STDDEV", "VAR_POP")+"("+distinct+"%s)", pick(g, arg(pick(g, kInt, kDec)), g.leaf(s, kFloat)))
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
		k := kInt + kind(g.IntN(int(kinds-kInt)))
		c = call(k, k == kFloat, pick(g, "MIN", "MAX")+"("+distinct+"%s)", arg(k))
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
	out := a.columns
	for range 1 + g.IntN(2) {
		with, from, s := g.from(depth)
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
			text = "SELECT * FROM (" + with + text + postgresOnly + ") AS u"
		}
		parts = append(parts, text)
	}
	if strings.HasPrefix(parts[0], "WITH") {
		parts[0] = "SELECT * FROM (" + parts[0] + postgresOnly + ") AS u"
	}
	return genQuery{strings.Join(parts, " UNION ALL "), out}
}

// near compares two numbers of which one may be rounded elsewhere.
func near(a, b float64, tolerance float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}
