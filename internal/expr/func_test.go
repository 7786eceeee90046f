package expr_test

import (
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func errText(err error) string { return sqlerr.CodeOf(err) + " " + err.Error() }

// TestExamples runs the example of every row of the function table.
func TestExamples(t *testing.T) {
	for _, f := range expr.Functions() {
		if f.Doc == "" || f.Example == "" {
			t.Errorf("%s: no doc or example", f.Name)
			continue
		}
		if len(f.Signatures()) == 0 {
			t.Errorf("%s: no signature", f.Name)
		}
		if got := atMoment(f.Example, exampleMoment); got != f.ExampleResult {
			t.Errorf("%s: %s gives %q, want %q", f.Name, f.Example, got, f.ExampleResult)
		}
	}
}

// exampleMoment is the moment of the examples, 2024-02-29 12:34:56.789012+00.
const exampleMoment = 1_709_210_096_789_012

// atMoment evaluates SQL text for a row that entered the job at moment.
func atMoment(s string, moment int64) string {
	e, err := bind(s, nil)
	if err != nil {
		return "!" + errText(err)
	}
	v, err := expr.EvalConst(e.WithClock(func(call *expr.Expr) *expr.Expr {
		return expr.Lit(types.IntValue(call.Type, vec.TruncateTick(moment, call.Type.Tick())))
	}))
	if err != nil {
		return "!" + errText(err)
	}
	if v.Null {
		return "NULL"
	}
	return string(vec.AppendValueText(nil, v))
}

// TestOneMoment compares the functions of the moment with each other: for a row they
// agree, also before 1970.
func TestOneMoment(t *testing.T) {
	for _, moment := range []int64{exampleMoment, 0, -1, -86_400_000_001} {
		for _, s := range []string{
			"NOW() = CURRENT_TIMESTAMP", "CAST(NOW() AS DATE) = CURRENT_DATE", "LOCALTIME = CURRENT_TIME",
			"CAST(CURRENT_DATE AS TIMESTAMP) + CAST(LOCALTIME AS INTERVAL) = LOCALTIMESTAMP", "PROCTIME() = CURRENT_TIMESTAMP(3)",
			"NOW() - PROCTIME() < INTERVAL '1 millisecond'", "NOW() >= PROCTIME()",
			"EXTRACT('epoch', NOW()) - UNIX_TIMESTAMP() < 1", "EXTRACT('epoch', NOW()) >= UNIX_TIMESTAMP()",
		} {
			if got := atMoment(s, moment); got != "t" {
				t.Errorf("%s at %d is %s", s, moment, got)
			}
		}
	}
	if got := evalText("NOW()"); got != "!XX000 the moment of the row is not known here" {
		t.Errorf("NOW() without a row is %s", got)
	}
}

func TestSignatures(t *testing.T) {
	for name, want := range map[string]string{
		"left": "left(varchar, int) → varchar", "substr": "substring(varchar, int [, int]) → varchar", "round": "round(decimal [, int])",
		"is null": "is null(any) → boolean",
	} {
		f, ok := expr.LookupFunc(name)
		if !ok || f.Signatures()[0] != want {
			t.Errorf("%s: %v", name, f.Signatures())
		}
	}
	names := map[string]bool{}
	for _, f := range expr.Functions() {
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if names[n] {
				t.Errorf("%q stands twice in the table", n)
			}
			names[n] = true
		}
	}
}
