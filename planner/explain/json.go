package explain

import (
	"encoding/json"
	"strings"

	"github.com/streamsql/streamsql/planner/plan"
)

// JSON is the form in which plans are stored, indented.
func JSON(p *plan.Plan) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(p)
	return b.String(), err
}
