package rules

import (
	"strconv"

	"github.com/streamsql/streamsql/planner/logical"
)

// share makes equal sub-plans one node: tables are scanned once, and a query written
// twice is computed once.
func share(roots []logical.Node) ([]logical.Node, error) {
	byPrint := map[string]logical.Node{}
	ids := map[logical.Node]string{}
	return logical.Rewrite(roots, func(n logical.Node) logical.Node {
		var in []string
		for _, c := range n.Inputs() {
			in = append(in, ids[c])
		}
		print := logical.Fingerprint(n, in)
		if same, ok := byPrint[print]; ok && print != "" {
			return same
		}
		if print != "" {
			byPrint[print] = n
		}
		ids[n] = strconv.Itoa(len(ids))
		return n
	}), nil
}
