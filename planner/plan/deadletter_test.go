package plan

import "testing"

func TestEveryDeadLetterColumnIsExplained(t *testing.T) {
	if len(DeadLetterDocs) != len(DeadLetterSchema) {
		t.Fatalf("%d columns, %d explanations", len(DeadLetterSchema), len(DeadLetterDocs))
	}
}
