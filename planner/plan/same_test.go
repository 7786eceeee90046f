package plan

import (
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
)

func sample() *Plan {
	return &Plan{Version: Version, KeyGroups: 256, Notices: []string{"a"}, Nodes: []*Node{
		{ID: 0, Role: "bid", Source: &Source{Table: "bid", Connector: "nats", Options: map[string]string{"stream": "S"}, Pos: 7}},
		{ID: 1, Inputs: []Edge{{Exchange: Forward}}, Calc: &Calc{Exprs: []*expr.Expr{expr.Lit(types.IntValue(types.TInt, 1))}}},
	}}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   bool
	}{
		{"nothing", func(*Plan) {}, true},
		{"a place", func(p *Plan) { p.Nodes[0].Source.Pos = 90; p.Nodes[1].Calc.Exprs[0].Pos = 3 }, true},
		{"an option", func(p *Plan) { p.Nodes[0].Source.Options["on.gap"] = "warn" }, true},
		{"a notice", func(p *Plan) { p.Notices = nil }, true},
		{"a constant", func(p *Plan) { p.Nodes[1].Calc.Exprs[0] = expr.Lit(types.IntValue(types.TInt, 2)) }, false},
		{"a table", func(p *Plan) { p.Nodes[0].Source.Table = "ask" }, false},
		{"a connector", func(p *Plan) { p.Nodes[0].Source.Connector = "file" }, false},
		{"an exchange", func(p *Plan) { p.Nodes[1].Inputs[0].Exchange = Gather }, false},
	} {
		p := sample()
		c.change(p)
		if got, err := Same(sample(), p); err != nil || got != c.want {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
