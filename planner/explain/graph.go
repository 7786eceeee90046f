package explain

import (
	"fmt"
	"strings"

	"github.com/streamsql/streamsql/planner/plan"
)

// DOT shows the physical plan as a graph for Graphviz: rows flow from the sources down
// to the sinks.
func DOT(p *plan.Plan) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	b.WriteString("digraph plan {\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n")
	for _, n := range p.Nodes {
		var lines []string
		for _, l := range nodeLines(p, n) {
			lines = append(lines, escape.Replace(l)+`\l`)
		}
		fmt.Fprintf(&b, "  n%d [label=\"%s\"];\n", n.ID, strings.Join(lines, ""))
	}
	for _, n := range p.Nodes {
		for _, e := range n.Inputs {
			fmt.Fprintf(&b, "  n%d -> n%d [label=\"%s\"];\n", e.From, n.ID, escape.Replace(edgeText(p.Nodes[e.From], e)))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// Mermaid shows the physical plan as a flowchart for Mermaid.
func Mermaid(p *plan.Plan) string {
	escape := strings.NewReplacer("#", "#35;", "&", "#amp;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;")
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, n := range p.Nodes {
		var lines []string
		for _, l := range nodeLines(p, n) {
			lines = append(lines, escape.Replace(l))
		}
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", n.ID, strings.Join(lines, "<br/>"))
	}
	for _, n := range p.Nodes {
		for _, e := range n.Inputs {
			fmt.Fprintf(&b, "  n%d -->|\"%s\"| n%d\n", e.From, escape.Replace(edgeText(p.Nodes[e.From], e)), n.ID)
		}
	}
	return b.String()
}

// nodeLines is a node's title and facts, one a line.
func nodeLines(p *plan.Plan, n *plan.Node) []string {
	out := []string{n.Kind() + title(p, n)}
	for _, f := range facts(p, n) {
		if f.text != "" {
			out = append(out, f.label+": "+f.text)
		}
	}
	return out
}
