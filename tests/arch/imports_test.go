// Package arch holds the tests of the house's rules: imports point down the floor
// table of ARCHITECTURE.md.
package arch

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/streamsql/streamsql/"

// floors reads the table of ARCHITECTURE.md: package path to floor.
func floors(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\|")
	out := make(map[string]int)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[1])
		if _, dup := out[m[2]]; dup {
			t.Errorf("ARCHITECTURE.md lists %s twice", m[2])
		}
		out[m[2]] = n
	}
	return out
}

type pkg struct {
	ImportPath string
	Imports    []string
}

// packages asks the go command for the packages of the project.
func packages(t *testing.T) []pkg {
	t.Helper()
	// A test's result is cached by the files that it looks at itself: these are what the
	// answer depends on.
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".git") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// TestImportsPointDown fails on a package without a floor, on a row without a
// package, and on an import that does not go to a lower floor.
func TestImportsPointDown(t *testing.T) {
	floor := floors(t)
	seen := make(map[string]bool)
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "tests/") {
			continue
		}
		seen[name] = true
		own, ok := floor[name]
		if !ok {
			t.Errorf("%s has no floor in ARCHITECTURE.md", name)
			continue
		}
		for _, i := range p.Imports {
			dep, ours := strings.CutPrefix(i, module)
			if !ours {
				continue
			}
			if f, ok := floor[dep]; ok && f >= own {
				t.Errorf("%s (floor %d) imports %s (floor %d)", name, own, dep, f)
			}
		}
	}
	for name := range floor {
		if !seen[name] {
			t.Errorf("ARCHITECTURE.md lists %s, which does not exist", name)
		}
	}
}

// TestOnlyImporters: some modules may be imported from one place only.
func TestOnlyImporters(t *testing.T) {
	only := map[string][]string{
		"github.com/pingcap/tidb/":        {"parser"},
		"github.com/lib/pq":               {"connectors/postgres", "internal/pgtest", "scripts/bench"},
		"github.com/nats-io/nats-server/": {"connectors/nats/embedded"},
		"github.com/chzyer/readline":      {"repl"},
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "tests/") {
			continue
		}
		for _, i := range p.Imports {
			for prefix, allowed := range only {
				if !strings.HasPrefix(i, prefix) {
					continue
				}
				ok := false
				for _, a := range allowed {
					ok = ok || name == a
				}
				if !ok {
					t.Errorf("%s imports %s, which only %s may", name, i, strings.Join(allowed, " and "))
				}
			}
		}
	}
}

// TestEveryConnectorIsListed: a package below connectors is a connector unless it is
// named here, and then stands in the list.
func TestEveryConnectorIsListed(t *testing.T) {
	other := map[string]bool{"connectors/all": true, "connectors/format": true}
	var listed []string
	var found []string
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if name == "connectors/all" {
			listed = p.Imports
		}
		if strings.Count(name, "/") == 1 && strings.HasPrefix(name, "connectors/") && !other[name] {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatal("no connectors found")
	}
	for _, name := range found {
		if !slices.Contains(listed, module+name) {
			t.Errorf("%s has no line in connectors/all", name)
		}
	}
}

// TestOperatorsArePure: no clock, I/O or goroutine in operators and planner.
func TestOperatorsArePure(t *testing.T) {
	banned := regexp.MustCompile(`(?m)^\s*go (func|[a-z])|\btime\.(Now|Sleep|After|NewTimer|NewTicker|Since)\(|\bos\.|\bnet\.`)
	for _, dir := range []string{"operators", "planner", "planner/plan", "planner/logical", "planner/bind", "planner/rules", "internal/expr", "internal/expr/agg", "parser", "checkpoint/state"} {
		files, _ := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if len(files) == 0 {
			t.Errorf("no files in %s", dir)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if m := banned.Find(text); m != nil && !(dir == "parser" && strings.HasSuffix(f, "environment.go")) {
				t.Errorf("%s: %q", f, m)
			}
		}
	}
}
