package expr

import (
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// TestNumbers: INT, BIGINT and DECIMAL by size, as PostgreSQL's pg_typeof says; the
// scale is the number of digits written behind the point.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        types.Type
	}{
		{"0", "0", types.TInt},
		{"2147483647", "2147483647", types.TInt},
		{"2147483648", "2147483648", types.TBigInt},
		{"-2147483648", "-2147483648", types.TInt},
		{"9223372036854775807", "9223372036854775807", types.TBigInt},
		{"-9223372036854775808", "-9223372036854775808", types.TBigInt},
		{"9223372036854775808", "9223372036854775808", types.TDecimal(19, 0)},
		{"0.908", "0.908", types.TDecimal(4, 3)},
		{".5", "0.5", types.TDecimal(2, 1)},
		{"-1.50", "-1.50", types.TDecimal(3, 2)},
		{"10.", "10", types.TDecimal(2, 0)},
		{"1e3", "1000", types.TDecimal(4, 0)},
		{"1.25e1", "12.5", types.TDecimal(3, 1)},
		{"1e-3", "0.001", types.TDecimal(4, 3)},
		{"00012.5", "12.5", types.TDecimal(3, 1)},
	} {
		e, err := NumberLit(c.text, 1)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := string(vec.AppendValueText(nil, *e.Val)); got != c.value || e.Type != c.want {
			t.Errorf("%s: got %s %s, want %s %s", c.text, got, e.Type, c.value, c.want)
		}
	}
	for _, text := range []string{"123456789012345678901234567890123456789", "1e39", "1e99999", "0.123456789012345678901234567890123456789"} {
		if _, err := NumberLit(text, 7); sqlerr.CodeOf(err) != sqlerr.CodeNumericOutOfRange || sqlerr.As(err).Pos != 7 {
			t.Errorf("%s: got %v, want out of range at 7", text, err)
		}
	}
}
