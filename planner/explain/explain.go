// Package explain shows plans: as text for people, as JSON, and as graphs. It shows no
// option of a table in text and graphs, since options may hold secrets.
package explain

import (
	"strings"

	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// Text shows a job's plan from each sink to its sources. The logical plan is what is
// computed, after the rules; the physical plan is how: every operator with its
// parallelism and state, every edge with its exchange and the kinds of rows on it. Then
// come the guarantee with what weakens it, the parts whose answer depends on the order
// of arrival, and the planner's notices.
func Text(roots []logical.Node, p *plan.Plan) string {
	var b strings.Builder
	b.WriteString("logical plan\n")
	writeTrees(&b, logicalTrees(roots))
	b.WriteString("\nphysical plan\n")
	writeTrees(&b, physicalTrees(p))
	b.WriteString("\nguarantee: " + p.Guarantee.Level + "\n")
	weak := "nothing weakens it"
	if len(p.Guarantee.Reasons) > 0 {
		weak = "weakened: "
	}
	writeList(&b, weak, p.Guarantee.Reasons)
	if len(p.OrderSensitive) > 0 {
		b.WriteString("\ndepends on the order of arrival\n")
		writeList(&b, "", p.OrderSensitive)
	}
	if len(p.Notices) > 0 {
		b.WriteString("\nnotices\n")
		writeList(&b, "", p.Notices)
	}
	return b.String()
}

// Logical shows the logical plan alone.
func Logical(roots []logical.Node) string {
	var b strings.Builder
	writeTrees(&b, logicalTrees(roots))
	return b.String()
}

// writeList writes one line for each item, or lead alone when there is none.
func writeList(b *strings.Builder, lead string, items []string) {
	if len(items) == 0 {
		b.WriteString("  " + lead + "\n")
	}
	for _, it := range items {
		b.WriteString("  " + lead + it + "\n")
	}
}
