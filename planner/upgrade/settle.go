package upgrade

import "github.com/streamsql/streamsql/planner/plan"

// settle makes operators begin empty that have to because others do. Where rows change
// after they came out, what an operator keeps is the sum of what the one before it has
// said: one that begins empty, or was fed otherwise, would be told to take back rows that
// it never had, and one whose input begins anew would keep rows that nobody takes back.
func (c *comparison) settle() {
	for changed := true; changed; {
		changed = false
		for _, n := range c.now.ops {
			f := &c.found[n.id]
			if n.kind == "sink" {
				continue
			}
			for _, in := range c.now.changing(n.node) {
				g := &c.found[in.id]
				switch {
				case f.node >= 0 && g.node < 0:
					changed = true
					f.begin("the " + in.title() + " before it begins empty and takes back nothing of what it keeps")
				case g.node >= 0 && !c.asItWas(n):
					changed = true
					g.begin("the " + n.title() + " behind it cannot take back rows that it was not told of")
				}
			}
			if f.node >= 0 && !c.asItWas(n) && c.fedByChanges(n) {
				changed = true
				f.begin("its input changes rows that came before, and it was fed otherwise")
			}
		}
	}
}

func (f *found) begin(why string) { *f = found{node: -1, why: why} }

func (c *comparison) fedByChanges(n *operator) bool {
	return len(c.now.changing(n.node)) > 0 || len(c.old.changing(c.old.p.Nodes[c.found[n.id].node])) > 0
}

// asItWas: n goes on with all it keeps, and it was fed as it is now.
func (c *comparison) asItWas(n *operator) bool {
	f := c.found[n.id]
	if f.node < 0 {
		return false
	}
	o := c.old.byID[f.node]
	if n.upstream.key != o.upstream.key {
		return false
	}
	if n.grouping == nil {
		return true
	}
	for i, a := range n.aggs {
		if !a.rows && (f.aggs[i] < 0 || o.aggs[f.aggs[i]].key != a.key) {
			return false
		}
	}
	return n.by().key == o.by().key
}

// changing gives the operators with state whose rows reach n and may change afterwards.
func (s *side) changing(n *plan.Node) []*operator {
	var out []*operator
	for _, e := range n.Inputs {
		in := s.p.Nodes[e.From]
		switch {
		case in.Changelog == plan.Append || e.Port != plan.Rows:
		case s.byID[in.ID] != nil:
			out = append(out, s.byID[in.ID])
		default:
			out = append(out, s.changing(in)...)
		}
	}
	return out
}
