package checkpoint

import (
	"context"
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// JobNames lists the names that jobs of the store have, sorted.
func JobNames(ctx context.Context, s Store) ([]string, error) {
	objects, err := s.List(ctx, "name/")
	if err != nil {
		return nil, fmt.Errorf("list the jobs: %w", err)
	}
	seen := make(map[string]bool)
	var out []string
	for _, o := range objects {
		escaped, _, _ := strings.Cut(strings.TrimPrefix(o, "name/"), "/")
		name, err := url.PathUnescape(escaped)
		if err != nil || seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, name)
	}
	sort.Strings(out)
	return out, nil
}
