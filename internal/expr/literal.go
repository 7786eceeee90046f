package expr

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// NumberLit returns the constant that digits stand for: INT or BIGINT where digits
// alone fit them, else DECIMAL with the digits as written. A number of more than 38
// digits is error 22003.
func NumberLit(digits string, pos sqlerr.Pos) (*Expr, error) {
	if !strings.ContainsAny(digits, ".eE") {
		if x, f := vec.ParseInt64([]byte(digits)); f == vec.Fine {
			t := types.TBigInt
			if vec.IntFits(types.TInt, x) {
				t = types.TInt
			}
			return LitAt(types.IntValue(t, x), pos), nil
		}
	}
	v, err := vec.ParseText(types.TDecimal(0, 0), []byte(digits))
	if err != nil {
		if se := sqlerr.As(err); se != nil {
			se.Pos = pos
			if se.Code == sqlerr.CodeNumericOutOfRange {
				se.Hint = "DECIMAL holds 38 digits; for a DOUBLE write CAST('" + digits + "' AS DOUBLE)."
			}
		}
		return nil, err
	}
	return LitAt(v, pos), nil
}
