package planner

import "strconv"

// roles gives every node the name by which its state is found again after the query
// changed: the table of a source or sink, else the path of kinds from the first sink.
func (b *builder) roles() {
	taken := map[string]int{}
	name := func(n *phys, role string) {
		taken[role]++
		if k := taken[role]; k > 1 {
			role += "#" + strconv.Itoa(k)
		}
		n.Role = role
	}
	var down func(n *phys)
	down = func(n *phys) {
		for _, e := range n.Inputs {
			in := b.nodes[e.From]
			if in.Role != "" {
				continue
			}
			if in.Source != nil {
				name(in, in.Source.Table)
				continue
			}
			name(in, n.Role+"/"+in.Kind())
			down(in)
		}
	}
	for _, n := range b.nodes {
		if n.Sink != nil {
			name(n, n.Sink.Table)
			down(n)
		}
	}
}
