package rules

import (
	"slices"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/logical"
)

// mergeProjections makes one projection of two, removes those that change nothing, and
// lets a scan give its columns in the order that is wanted. Two stay apart where merging would put an expression that may raise under a CASE or
// AND, or compute a volatile one twice.
func mergeProjections(roots []logical.Node) ([]logical.Node, error) {
	for {
		uses := logical.Consumers(roots)
		changed := false
		roots = logical.Rewrite(roots, func(n logical.Node) logical.Node {
			p, ok := n.(*logical.Project)
			if !ok {
				return n
			}
			if isIdentity(p) {
				changed = true
				return p.Input
			}
			if s, ok := p.Input.(*logical.Scan); ok && uses[s] == 1 {
				if places := distinctColumns(p.Exprs, s.Output); places != nil {
					changed = true
					c := *s
					c.Output = places
					return &c
				}
			}
			q, ok := p.Input.(*logical.Project)
			if !ok || !mergeable(p, q, uses[q] == 1) {
				return n
			}
			changed = true
			out := &logical.Project{Input: q.Input, Names: p.Names}
			for _, e := range p.Exprs {
				out.Exprs = append(out.Exprs, e.Substitute(q.Exprs))
			}
			return out
		})
		if !changed {
			return roots, nil
		}
	}
}

// distinctColumns gives the places in space of expressions that are columns, each another
// one; nil for other lists.
func distinctColumns(exprs []*expr.Expr, space []int) []int {
	var out []int
	for _, e := range exprs {
		if e.Kind != expr.Column || slices.Contains(out, space[e.Col]) {
			return nil
		}
		out = append(out, space[e.Col])
	}
	return out
}

func isIdentity(p *logical.Project) bool {
	if len(p.Exprs) != len(p.Input.Columns()) {
		return false
	}
	for i, e := range p.Exprs {
		if e.Kind != expr.Column || e.Col != i {
			return false
		}
	}
	return true
}

// mergeable judges the projection upper over lower. only: nobody else uses lower.
func mergeable(upper, lower *logical.Project, only bool) bool {
	uses := make([]int, len(lower.Exprs))
	guarded := make([]bool, len(lower.Exprs))
	for _, e := range upper.Exprs {
		countUses(e, false, uses, guarded)
	}
	for i, e := range lower.Exprs {
		if e.Kind == expr.Column || e.Kind == expr.Literal || uses[i] == 0 {
			continue
		}
		if !only || uses[i] > 1 && e.Volatility() == expr.Volatile || guarded[i] && e.Raises() {
			return false
		}
	}
	return true
}

// countUses counts references by column, and notes those that are evaluated only for
// some rows.
func countUses(e *expr.Expr, under bool, uses []int, guarded []bool) {
	if e.Kind == expr.Column {
		uses[e.Col]++
		guarded[e.Col] = guarded[e.Col] || under
	}
	switch e.Kind {
	case expr.And, expr.Or, expr.Case, expr.Coalesce:
		under = true
	}
	for _, a := range e.Args {
		countUses(a, under, uses, guarded)
	}
}
