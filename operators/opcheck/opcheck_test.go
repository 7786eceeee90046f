package opcheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/planner/plan"
)

// batch reads lines like "+I 1 10": op, key, value.
func batch(lines ...string) *vec.Batch {
	b := vec.NewBatch([]types.Type{types.TText, types.TText}, len(lines))
	for _, l := range lines {
		f := strings.Fields(l)
		b.Cols[0].AppendString(f[1])
		b.Cols[1].AppendString(f[2])
		b.AppendOp(vec.Op(slices.Index([]string{"+I", "-D", "-U", "+U"}, f[0])))
	}
	return b
}

func TestChecker(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  plan.ChangelogMode
		lines []string
		fault string // part of it, empty for none
	}{
		{"a bag", plan.Retract, []string{"+I a 1", "+I a 1", "-D a 1"}, ""},
		{"an update", plan.Retract, []string{"+I a 1", "-U a 1", "+U a 2", "-D a 2"}, ""},
		{"taken twice", plan.Retract, []string{"+I a 1", "-D a 1", "-D a 1"}, "not there"},
		{"another value", plan.Retract, []string{"+I a 1", "-D a 2"}, "not there"},
		{"an old half alone", plan.Retract, []string{"+I a 1", "-U a 1"}, "without its new half"},
		{"a new half alone", plan.Retract, []string{"+U a 1"}, "without its old half"},
		{"a key that moves", plan.Retract, []string{"+I a 1", "-U a 1", "+U b 1"}, "differ in their key"},
		{"a change", plan.Append, []string{"+I a 1", "-D a 1"}, "append-only"},
		{"upserts", plan.Upsert, []string{"+I a 1", "+U a 2", "-D a x", "+I a 3"}, ""},
		{"an old half of an upsert", plan.Upsert, []string{"+I a 1", "-U a 1"}, "old half"},
		{"a key inserted twice", plan.Upsert, []string{"+I a 1", "+I a 2"}, "exists"},
		{"a key that is not there", plan.Upsert, []string{"+U a 1"}, "not there"},
	} {
		err := New(c.mode, []int{0}).Check(batch(c.lines...))
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want %q", c.name, err, c.fault)
		}
	}
}

func TestRows(t *testing.T) {
	c := New(plan.Retract, nil)
	if err := c.Check(batch("+I b 1", "+I a 1", "+I a 1", "-D b 1")); err != nil {
		t.Fatal(err)
	}
	if got := c.Rows(); !slices.Equal(got, []string{`"a" "1"`, `"a" "1"`}) {
		t.Errorf("%q", got)
	}
}
