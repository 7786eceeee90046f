package expr_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/pgtest"
)

// randomDecimal is a signed number of up to 18 digits with a point somewhere.
func randomDecimal(r *rand.Rand) string {
	digits := 1 + r.IntN(18)
	var b strings.Builder
	point := r.IntN(digits + 1)
	for i := range digits {
		if i == point {
			if i == 0 {
				b.WriteByte('0')
			}
			b.WriteByte('.')
		}
		b.WriteByte(byte('0' + r.IntN(10)))
	}
	if r.IntN(3) == 0 {
		return "(-" + b.String() + ")"
	}
	return b.String()
}

func randomInterval(r *rand.Rand) string {
	return fmt.Sprintf("INTERVAL '%d months %d days %d.%06d seconds'", r.IntN(100)-50, r.IntN(200)-100, r.IntN(200000), r.IntN(1000000))
}

func randomTimestamp(r *rand.Rand) string {
	return fmt.Sprintf("TIMESTAMP '%04d-%02d-%02d %02d:%02d:%02d.%06d'", 1890+r.IntN(250), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000000))
}

func randomExpr(r *rand.Rand) string {
	switch r.IntN(9) {
	case 0:
		return randomTimestamp(r) + " + " + randomInterval(r)
	case 1:
		return randomTimestamp(r) + " - " + randomInterval(r)
	case 2:
		return randomTimestamp(r) + " - " + randomTimestamp(r)
	case 3:
		return fmt.Sprintf("ROUND(%s, %d)", randomDecimal(r), r.IntN(8)-3)
	case 4:
		return fmt.Sprintf("CAST(%s AS DECIMAL(38,%d))", randomDecimal(r), r.IntN(12))
	case 5:
		return randomDecimal(r) + " " + []string{"<", "<=", "=", ">"}[r.IntN(4)] + " " + randomDecimal(r)
	}
	return randomDecimal(r) + " " + []string{"+", "-", "*", "/", "%"}[r.IntN(5)] + " " + randomDecimal(r)
}

// near allows for the last digit of the shorter number: two quotients that were rounded
// at different places.
func near(a, b string) bool {
	x, okx := new(big.Rat).SetString(a)
	y, oky := new(big.Rat).SetString(b)
	if !okx || !oky {
		return false
	}
	unit := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(min(fraction(a), fraction(b)))), nil))
	return x.Sub(x, y).Abs(x).Cmp(unit) <= 0
}

// TestRandomInPostgres compares random arithmetic with a real server. What the server
// computes and we refuse must be too wide for 38 digits.
func TestRandomInPostgres(t *testing.T) {
	s := pgtest.Start(t)
	db := s.Open(t)
	r := seeded(t)
	const cases = 500
	refused := 0
	for range cases {
		c := randomExpr(r)
		ours := evalText(c)
		var theirs string
		if err := db.QueryRow("SELECT format('%s', " + c + ")").Scan(&theirs); err != nil {
			if !strings.HasPrefix(ours, "!22") {
				t.Errorf("%s: %q, PostgreSQL: %v", c, ours, err)
			}
			continue
		}
		if strings.HasPrefix(ours, "!22003") {
			refused++
			continue
		}
		if ours != theirs && !sameNumber(ours, theirs) && !(strings.Contains(c, "/") && near(ours, theirs)) {
			t.Errorf("%s: %q, PostgreSQL %q", c, ours, theirs)
		}
	}
	if refused > cases/10 {
		t.Errorf("%d of %d refused", refused, cases)
	}
}
