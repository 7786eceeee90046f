package planner

import (
	"github.com/streamsql/streamsql/internal/catalog"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/explain"
	"github.com/streamsql/streamsql/planner/plan"
)

// Explain plans all outputs of a job as Plan does and shows the plan. No value of a
// secret option is shown.
func Explain(outputs []Output, snap *catalog.Snapshot, opts Options, format tree.ExplainFormat) (string, error) {
	roots, _, err := Logical(outputs, snap, opts)
	if err != nil {
		return "", err
	}
	opts = opts.withDefaults()
	p, err := physical(roots, snap, opts)
	if err != nil {
		return "", err
	}
	switch format {
	case tree.ExplainJSON:
		return explain.JSON(withoutSecrets(p, opts))
	case tree.ExplainDot:
		return explain.DOT(p), nil
	case tree.ExplainMermaid:
		return explain.Mermaid(p), nil
	}
	return explain.Text(roots, p), nil
}

// withoutSecrets gives a plan like p in which secret options that hold more than the
// names of variables are masked.
func withoutSecrets(p *plan.Plan, opts Options) *plan.Plan {
	out := *p
	out.Nodes = make([]*plan.Node, len(p.Nodes))
	for i, n := range p.Nodes {
		c := *n
		switch {
		case n.Source != nil:
			s := *n.Source
			s.Options = masked(s.Connector, s.Options, opts)
			c.Source = &s
		case n.Sink != nil:
			s := *n.Sink
			s.Options = masked(s.Connector, s.Options, opts)
			c.Sink = &s
		}
		out.Nodes[i] = &c
	}
	return &out
}

func masked(connector string, options map[string]string, opts Options) map[string]string {
	conn, _ := opts.Connectors(connector)
	out := make(map[string]string, len(options))
	for k, v := range options {
		left := expand(v, func(string) (string, bool) { return "", true })
		if conn.Secret(k) && left != "" {
			v = "***"
		}
		out[k] = v
	}
	return out
}
