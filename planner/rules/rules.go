// Package rules rewrites logical plans. Each rule is a function from DAG to DAG in a
// file of its own; the list below is the order in which they run.
package rules

import (
	"slices"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/planner/logical"
)

// Rule is one rewrite of the whole DAG. It keeps what every root gives.
type Rule struct {
	Name  string
	Apply func(roots []logical.Node) ([]logical.Node, error)
}

// List is the order of the rules. Sharing comes first, so that a scan knows all its
// consumers when predicates and columns are pushed, and last, to join what the rules
// made equal.
func List() []Rule {
	return []Rule{
		{"stamp-rows", stampRows},
		{"fold-constants", foldConstants},
		{"share-plans", share},
		{"window-aggregation", windowAggregation},
		{"push-predicates", pushPredicates},
		{"merge-projections", mergeProjections},
		{"prune-columns", pruneColumns},
		{"merge-projections", mergeProjections},
		{"share-plans", share},
	}
}

// Apply runs all rules. fired names those that changed the plan, in the order in which
// they first did.
func Apply(roots []logical.Node) (out []logical.Node, fired []string, err error) {
	before := logical.FingerprintAll(roots)
	for _, r := range List() {
		if roots, err = r.Apply(roots); err != nil {
			return nil, nil, err
		}
		after := logical.FingerprintAll(roots)
		if after != before && !slices.Contains(fired, r.Name) {
			fired = append(fired, r.Name)
		}
		before = after
	}
	return roots, fired, nil
}

// volatile reports that n computes something that may differ from call to call.
func volatile(n logical.Node) bool {
	found := false
	mapExprs(n, func(e *expr.Expr) *expr.Expr {
		found = found || e.Volatility() == expr.Volatile
		return e
	})
	return found
}

// mapExprs rebuilds n with f applied to its expressions.
func mapExprs(n logical.Node, f func(*expr.Expr) *expr.Expr) logical.Node {
	switch n := n.(type) {
	case *logical.Filter:
		if p := f(n.Pred); p != n.Pred {
			return &logical.Filter{Input: n.Input, Pred: p}
		}
	case *logical.Project:
		out := make([]*expr.Expr, len(n.Exprs))
		changed := false
		for i, e := range n.Exprs {
			out[i] = f(e)
			changed = changed || out[i] != e
		}
		if changed {
			return &logical.Project{Input: n.Input, Exprs: out, Names: n.Names}
		}
	}
	return n
}
