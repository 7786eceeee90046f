package sql

import (
	"fmt"
	"strings"
)

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
			g.subs = append(g.subs, c)
			return c
		}
		if depth > 0 {
			depth--
		}
	}
}

func isLeaf(s scope, c column) bool { return isColumn(s, c) || strings.HasPrefix(c.text, constFrom) }

func (g *generator) try(s scope, k kind, depth int, exact bool) column {
	if depth == 0 {
		return g.leaf(s, k)
	}
	e := func(k kind) column { return g.expr(s, k, depth-1, exact) }
	// Of a value that is only near PostgreSQL's a step makes quite another.
	step := func(k kind) column { return g.expr(s, k, depth-1, true) }
	if g.one(6) {
		return g.choice(s, k, depth, exact)
	}
	if g.hard && g.one(4) {
		if c, ok := g.cast(k, e); ok {
			return c
		}
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
			return call(k, false, "CAST(%s AS "+pick(g, "INT", "BIGINT")+")", step(pick(g, kDec, kInt)))
		}
	case kDec:
		switch g.IntN(9) {
		case 0, 1:
			return call(k, false, "(%s "+pick(g, "+", "-")+" %s)", e(pick(g, kDec, kInt)), e(k))
		case 2:
			return call(k, false, "(%s * %s)", g.narrow(e(k)), g.narrow(g.leaf(s, pick(g, kDec, kInt))))
		case 3:
			return call(k, true, "(%s / NULLIF(%s, 0))", e(k), g.leaf(s, pick(g, kDec, kInt)))
		case 4:
			return call(k, false, pick(g, "ABS", "CEIL", "FLOOR", "SIGN", "ROUND", "TRUNC")+"(%s)", step(k))
		case 5:
			return call(k, false, pick(g, "ROUND", "TRUNC")+"(%s, "+pick(g, "1", "0", "3", "-1")+")", step(k))
		case 6:
			return call(k, false, "CAST(%s AS DECIMAL(20,"+pick(g, "0", "1", "4")+"))", step(pick(g, kDec, kInt)))
		case 7:
			return call(k, false, "(%s %% NULLIF(%s, 0))", step(k), step(k))
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
		// Beyond 292 thousand years PostgreSQL's sum comes round.
		return call(k, false, "(%s + %s)", g.leaf(s, k), g.easy(kInterval))
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
func (g *generator) narrow(c column) column {
	if !g.hard && (c.text[0] == 'd' || c.text[0] == 'i' || strings.HasPrefix(c.text, "q.")) {
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
	return column{text: constFrom + quoteSQL(pick(g, `{"a": 1, "b": "x"}`, `{"a": null}`, `{"n": 9007199254740993, "a": {"b": [1, 2]}}`, `{"a": 1.50, "b": true}`)) + constTo, kind: kText}
}

func (g *generator) exactLeaf(s scope, k kind) column {
	for {
		if c := g.leaf(s, k); !c.rough {
			return c
		}
	}
}
