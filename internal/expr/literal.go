package expr

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// NumberLit types a number as PostgreSQL does: digits are INT, BIGINT or DECIMAL by
// size, everything else DECIMAL of the precision and scale as written. The sign belongs
// to the text. A number of more than 38 digits is error 22003.
func NumberLit(text string, pos sqlerr.Pos) (*Expr, error) {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			t := types.TBigInt
			if int64(int32(n)) == n {
				t = types.TInt
			}
			return LitAt(types.IntValue(t, n), pos), nil
		}
	}
	p, s, ok := decimalShape(text)
	if !ok {
		return nil, sqlerr.New(sqlerr.CodeNumericOutOfRange, pos, "number %s has more than %d digits", text, types.MaxPrecision).
			WithHint("For a DOUBLE write CAST('%s' AS DOUBLE).", text)
	}
	v, err := vec.ParseText(types.TDecimal(p, s), []byte(text))
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeNumericOutOfRange, pos, "number %s is out of range", text)
	}
	return LitAt(v, pos), nil
}

// decimalShape gives the smallest DECIMAL that holds the number exactly; one digit
// before the point is always counted.
func decimalShape(text string) (precision, scale int, ok bool) {
	text = strings.TrimLeft(text, "+-")
	exp := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.Atoi(text[i+1:])
		if err != nil || n > 1000 || n < -1000 {
			return 0, 0, false
		}
		exp, text = n, text[:i]
	}
	whole, frac, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	digits := max(1, len(whole)+exp)
	if whole == "" {
		digits = max(1, exp)
	}
	scale = max(0, len(frac)-exp)
	return digits + scale, scale, digits+scale <= types.MaxPrecision
}
