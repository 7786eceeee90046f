package sql

import (
	"fmt"
	"math/big"
	"strings"
)

// limit is a value at or near a limit of its type, as JSON; "" for kinds without.
func (g *generator) limit(k kind, typ string) string {
	switch k {
	case kInt:
		bits := map[string]int{"SMALLINT": 15, "INT": 31, "BIGINT": 63}[typ]
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		switch g.IntN(4) {
		case 0:
			n.Sqrt(n)
		case 1:
			n.Rsh(n, 1)
		}
		n.Sub(n, big.NewInt(int64(1+g.IntN(3))))
		if g.one(2) {
			n.Neg(n).Sub(n, big.NewInt(1))
		}
		return n.String()
	case kDec:
		var p, s int
		if _, err := fmt.Sscanf(typ, "DECIMAL(%d,%d)", &p, &s); err != nil {
			panic(err)
		}
		n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(pick(g, p, p, p-1, p/2, s))), nil)
		n.Sub(n, big.NewInt(int64(1+g.IntN(2))))
		if g.one(2) {
			n.Neg(n)
		}
		return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s)), nil)).FloatString(s)
	case kFloat:
		if !g.floats {
			return "" // their sums depend on the order
		}
		if typ == "REAL" {
			return pick(g, "3.4028235e38", "-3.4028235e38", "1.1754944e-38", "1e-45", "16777217")
		}
		return pick(g, "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "5e-324", "9223372036854775807", "-9223372036854775808", "9007199254740993", "1e154", "1e19")
	case kDate:
		return `"` + pick(g, "9999-12-31", "0001-01-01", "294246-12-31", "0044-03-15 BC", "4714-11-24 BC") + `"`
	case kStamp:
		return `"` + pick(g, "9999-12-31 23:59:59.999", "0001-01-01 00:00:00", "294246-12-31 23:59:59.999", "4714-11-24 00:00:00 BC", "2262-04-11 23:47:16.854") + `"`
	case kStampTZ:
		return `"` + pick(g, "9999-12-31 23:59:59.999+00", "0001-01-01 00:00:00+00", "294246-12-31 23:59:59.999+00", "4714-11-24 00:00:00+00 BC") + `"`
	case kText:
		return quoteJSON(pick(g, "32767", "32768", "-32769", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
			"99999999999999999999999999999999999999", "100000000000000000000000000000000000000", "1e400", "294277-01-01", "1e38", "NaN"))
	}
	return ""
}

// cast converts a value to a type of kind k that it may not fit. A constant text that is
// no value of the type would be an error in the query.
func (g *generator) cast(k kind, e func(kind) column) (column, bool) {
	c, ok := g.castOf(k, e)
	return c, ok && !strings.HasPrefix(c.text, "CAST("+constFrom+"'")
}

func (g *generator) castOf(k kind, e func(kind) column) (column, bool) {
	number := func() kind { return pick(g, kInt, kDec, kInt, kDec, kFloat) }
	switch k {
	case kInt:
		from := number()
		if g.one(6) {
			from = kText
		}
		return call(k, false, "CAST(%s AS "+pick(g, "SMALLINT", "INT", "BIGINT")+")", e(from)), true
	case kDec:
		from := pick(g, kInt, kDec, kDec)
		if g.one(6) {
			from = kText
		}
		return call(k, false, "CAST(%s AS "+pick(g, "DECIMAL(38,0)", "DECIMAL(38,18)", "DECIMAL(4,2)", "DECIMAL(38,38)", "DECIMAL(19,0)")+")", e(from)), true
	case kFloat:
		from := number()
		if g.one(6) {
			from = kText
		}
		return call(k, true, "CAST(%s AS "+pick(g, "REAL", "DOUBLE PRECISION")+")", e(from)), true
	case kDate:
		return call(k, false, "CAST(%s AS DATE)", e(pick(g, kStamp, kText))), true
	case kStamp:
		return call(k, false, "CAST(%s AS TIMESTAMP)", e(pick(g, kDate, kStampTZ))), true
	}
	return column{}, false
}
