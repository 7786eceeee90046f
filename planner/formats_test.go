package planner_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/plan"
)

// checkFormats shows p in every format of EXPLAIN: JSON reads back as the plan, the
// graphs have its nodes and edges.
func checkFormats(t *testing.T, p *plan.Plan, show func(tree.ExplainFormat) (string, error)) {
	t.Helper()
	text := func(f tree.ExplainFormat) string {
		out, err := show(f)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var back plan.Plan
	if err := json.Unmarshal([]byte(text(tree.ExplainJSON)), &back); err != nil {
		t.Fatalf("the JSON form does not parse: %v", err)
	}
	if same, err := plan.Same(&back, p); err != nil || !same {
		t.Errorf("the JSON form is another plan (%v)", err)
	}
	var nodes, edges []string
	for _, n := range p.Nodes {
		nodes = append(nodes, fmt.Sprint(n.ID))
		for _, e := range n.Inputs {
			edges = append(edges, fmt.Sprint(e.From, " ", n.ID))
		}
	}
	checkGraph(t, text(tree.ExplainDot), "digraph plan {", "}", nodes, edges,
		regexp.MustCompile(`^  n(\d+) \[label="(?:[^"\\]|\\.)*"\];$`), regexp.MustCompile(`^  n(\d+) -> n(\d+) \[label="(?:[^"\\]|\\.)*"\];$`),
		regexp.MustCompile(`^  (?:node|edge) \[.*\];$`))
	checkGraph(t, text(tree.ExplainMermaid), "flowchart TD", "", nodes, edges,
		regexp.MustCompile(`^  n(\d+)\["(?:[^"<>]|<br/>)*"\]$`), regexp.MustCompile(`^  n(\d+) -->\|"[^"<>]*"\| n(\d+)$`), nil)
}

// checkGraph reads a graph line by line: a head, nodes, edges, a tail, and nothing else.
func checkGraph(t *testing.T, text, head, tail string, nodes, edges []string, node, edge, other *regexp.Regexp) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != head || tail != "" && lines[len(lines)-1] != tail {
		t.Fatalf("not a graph:\n%s", text)
	}
	lines = lines[1:]
	if tail != "" {
		lines = lines[:len(lines)-1]
	}
	var gotNodes, gotEdges []string
	for _, l := range lines {
		if m := edge.FindStringSubmatch(l); m != nil {
			gotEdges = append(gotEdges, m[1]+" "+m[2])
		} else if m := node.FindStringSubmatch(l); m != nil {
			gotNodes = append(gotNodes, m[1])
		} else if other == nil || !other.MatchString(l) {
			t.Errorf("neither node nor edge: %s", l)
		}
	}
	if fmt.Sprint(gotNodes) != fmt.Sprint(nodes) || fmt.Sprint(gotEdges) != fmt.Sprint(edges) {
		t.Errorf("nodes %v, edges %v, want %v and %v in\n%s", gotNodes, gotEdges, nodes, edges, text)
	}
}
