package planner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/planner/rules"
)

// TestEveryRuleHasCases: testdata/rules has for every rule of the list a case in which it
// must fire and a near miss in which it must not, and names no other rule.
func TestEveryRuleHasCases(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.test")
	if err != nil {
		t.Fatal(err)
	}
	argument := regexp.MustCompile(`\b(expect|expect-not)=\(?([a-z, -]+)\)?`)
	named := map[string][]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "rules ") {
				continue
			}
			for _, m := range argument.FindAllStringSubmatch(line, -1) {
				for _, rule := range strings.Split(m[2], ",") {
					named[m[1]] = append(named[m[1]], strings.Fields(rule)[0])
				}
			}
		}
	}
	var list []string
	for _, r := range rules.List() {
		list = append(list, r.Name)
		for _, arg := range []string{"expect", "expect-not"} {
			if !slices.Contains(named[arg], r.Name) {
				t.Errorf("no case with %s=%s", arg, r.Name)
			}
		}
	}
	for arg, names := range named {
		for _, n := range names {
			if !slices.Contains(list, n) {
				t.Errorf("%s=%s names no rule", arg, n)
			}
		}
	}
}
