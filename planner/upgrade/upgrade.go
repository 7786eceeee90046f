// Package upgrade compares a job's plan with the plan that a checkpoint was made by, and
// says operator by operator which state the new plan goes on with. It is pure.
//
// Operators are matched by role: a source or sink by its declared table, any other by
// the path of operators that keep state from its sink. Their state must have the same
// signature: kind, windows, key types, and each accumulator by itself. What goes into
// them is compared apart: where it differs, the state can be gone on with, but the past
// was computed otherwise. Options of connectors are in neither.
package upgrade

import (
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// Compare says how now goes on with the state of old.
func Compare(old, now *plan.Plan) *Report {
	c := &comparison{old: newSide(old, now), now: newSide(now, old)}
	c.found = make([]found, len(now.Nodes))
	for i := range c.found {
		c.found[i].node = -1
	}
	used := make([]bool, len(old.Nodes))
	for _, as := range []func(n, o *operator) bool{sameEverything, sameComputation, sameRole} {
		for _, n := range c.now.ops {
			if c.found[n.id].node < 0 {
				c.match(n, used, as)
			}
		}
	}
	c.settle()
	return c.report()
}

// comparison is two plans and what of one was found in the other.
type comparison struct {
	old, now *side
	found    []found // by node of now
}

// found is the older operator that one goes on with.
type found struct {
	node int // -1: none
	aggs []int
	// why there is none although an operator of the role was there.
	why string
}

// side is one of the plans.
type side struct {
	*lineage
	ops  []*operator // in the order of nodes
	byID []*operator
}

// operator is a node that has state, a position, or a target.
type operator struct {
	id   int
	node *plan.Node
	kind string
	role string
	in   *relation // nil for a source and for VALUES
	*grouping
	// upstream is the fingerprint of what goes in: the rows, for a sink and what keeps
	// whole rows also their columns, for windows the watermark; keys and accumulators
	// stand for themselves.
	upstream text
}

func newSide(p, other *plan.Plan) *side {
	s := &side{lineage: newLineage(p, other), byID: make([]*operator, len(p.Nodes))}
	for _, n := range p.Nodes {
		if o := s.operator(n); o != nil {
			s.ops, s.byID[n.ID] = append(s.ops, o), o
		}
	}
	s.roles()
	return s
}

func (s *side) operator(n *plan.Node) *operator {
	o := &operator{id: n.ID, node: n, kind: n.Kind()}
	if len(n.Inputs) > 0 {
		o.in = s.nodes[n.Inputs[0].From]
		if e := n.Inputs[0]; e.Port != plan.Rows {
			o.in = s.letters(e)
		}
		o.upstream = o.in.rows()
	}
	switch {
	case n.Source != nil:
		o.role = n.Source.Table
		o.upstream = s.nodes[n.ID].time
	case n.Values != nil:
		o.upstream = s.nodes[n.ID].from
	case n.GroupAgg != nil:
		o.grouping = s.grouping(n, o.in)
	case n.WindowAgg != nil:
		o.grouping = s.grouping(n, o.in)
		o.timed()
	case n.Assign != nil:
		o.whole()
		o.timed()
	case n.Materialize != nil:
		o.whole()
	case n.Sink != nil:
		o.role = n.Sink.Table
		o.whole()
	default:
		return nil
	}
	return o
}

// whole adds the columns of the rows to what goes in.
func (o *operator) whole() {
	var show, key string
	for i, c := range o.in.cols {
		if i > 0 {
			show, key = show+", ", key+", "
		}
		show, key = show+c.show, key+c.key
	}
	o.upstream = text{show + " FROM " + o.upstream.show, key + " FROM " + o.upstream.key}
}

// timed adds the watermark to what goes in.
func (o *operator) timed() {
	if o.in.time.key != "" {
		o.upstream.show, o.upstream.key = o.upstream.show+", "+o.in.time.show, o.upstream.key+", "+o.in.time.key
	}
}

// roles names the operators between the ends: the sink they lead to, then the operators
// with state on the way, so that a projection or filter more changes no name.
func (s *side) roles() {
	var down func(n *plan.Node, path string)
	down = func(n *plan.Node, path string) {
		for _, e := range n.Inputs {
			in := s.p.Nodes[e.From]
			o := s.byID[in.ID]
			switch {
			case o == nil:
				down(in, path)
			case o.role == "":
				o.role = path + "/" + o.kind
				down(in, o.role)
			}
		}
	}
	for _, n := range s.p.Nodes {
		if n.Sink != nil {
			down(n, n.Sink.Table)
		}
	}
}

func sameEverything(n, o *operator) bool { return n.role == o.role && sameComputation(n, o) }

// sameComputation: the state of one is that of the other, whatever it is used for.
func sameComputation(n, o *operator) bool {
	if n.kind == "source" || n.kind == "sink" {
		return n.role == o.role && n.upstream.key == o.upstream.key
	}
	return n.upstream.key == o.upstream.key && (n.grouping == nil || n.by().key == o.by().key)
}

func sameRole(n, o *operator) bool { return n.role == o.role && n.kind != "values" }

// match looks for the older operator of n. One whose computation is the same may serve
// several; else one serves one.
func (c *comparison) match(n *operator, used []bool, as func(n, o *operator) bool) {
	for _, o := range c.old.ops {
		twice := n.kind != "source" && n.kind != "sink" && sameComputation(n, o)
		if n.kind != o.kind || used[o.id] && !twice || !as(n, o) {
			continue
		}
		aggs, why := c.carries(o, n)
		if why != "" {
			c.found[n.id].why = why
			continue
		}
		c.found[n.id] = found{node: o.id, aggs: aggs}
		used[o.id] = true
		return
	}
}

// carries says which aggregates go on, or why the state cannot be gone on with.
func (c *comparison) carries(o, n *operator) (aggs []int, why string) {
	switch n.kind {
	case "source":
		if n.node.Source.Connector != o.node.Source.Connector {
			return nil, fmt.Sprintf("its connector was %q", o.node.Source.Connector)
		}
		return nil, ""
	case "values", "sink":
		return nil, ""
	}
	if n.grouping != nil {
		if !slices.Equal(n.keyTypes, o.keyTypes) || !n.goesOn(o.grouping) {
			if o.by().show == n.by().show {
				return nil, "what it groups by was computed otherwise"
			}
			return nil, "its rows were kept " + o.by().show
		}
		aggs = n.pair(o.grouping)
	}
	if _, err := operators.Carry(o.node, n.node, c.old.inputs(o), c.now.inputs(n), aggs); err != nil {
		return nil, err.Error()
	}
	return aggs, ""
}

func (s *side) inputs(o *operator) []types.Schema { return s.p.InputSchemas(o.node) }
