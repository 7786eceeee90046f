package rules

import (
	"strconv"

	"github.com/streamsql/streamsql/planner/logical"
)

// share makes equal sub-plans one node: tables are scanned once, and a query written
// twice is computed once. What differs from call to call stays apart.
func share(roots []logical.Node) ([]logical.Node, error) {
	byPrint := map[string]logical.Node{}
	ids := map[logical.Node]string{}
	return logical.Rewrite(roots, func(n logical.Node) logical.Node {
		var in []string
		for _, c := range n.Inputs() {
			in = append(in, ids[c])
		}
		if print := logical.Fingerprint(n, in); print != "" && !volatile(n) {
			if same, ok := byPrint[print]; ok {
				return same
			}
			byPrint[print] = n
		}
		ids[n] = strconv.Itoa(len(ids))
		return n
	}), nil
}
