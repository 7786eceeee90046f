package upgrade

import (
	"reflect"
	"slices"
	"testing"

	"github.com/streamsql/streamsql/planner/plan"
)

// TestEveryKindIsKnown: an operator that is added says here what becomes of its columns
// (lineage) and whether it has state (newSide), else its state would be dropped unsaid.
func TestEveryKindIsKnown(t *testing.T) {
	known := []string{"Source", "Values", "Calc", "Stamp", "Assign", "WindowAgg", "GroupAgg", "Union", "Materialize", "Sink"}
	n := reflect.TypeFor[plan.Node]()
	for i := range n.NumField() {
		if f := n.Field(i); f.Type.Kind() == reflect.Pointer && !slices.Contains(known, f.Name) {
			t.Errorf("a %s is not known to upgrades", f.Name)
		}
	}
}
