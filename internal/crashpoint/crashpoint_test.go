package crashpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestKillsTheNthTime runs itself as another process, which passes a point 3 times.
func TestKillsTheNthTime(t *testing.T) {
	if os.Getenv(Variable) != "" {
		for i := range 3 {
			Here("after-seal")
			fmt.Printf("passed %d\n", i+1)
		}
		return
	}
	for _, c := range []struct {
		at     string
		passed int
		killed bool
	}{
		{"after-seal", 0, true},
		{"after-seal:1", 0, true},
		{"after-seal:3", 2, true},
		{"after-seal:4", 3, false},
		{"before-seal", 3, false},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKillsTheNthTime$")
		cmd.Env = append(os.Environ(), Variable+"="+c.at)
		out, err := cmd.Output()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if n := strings.Count(string(out), "passed "); n != c.passed || killed != c.killed {
			t.Errorf("%s: passed %d times, killed %v (%v), want %d, %v", c.at, n, killed, err, c.passed, c.killed)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		value string
		ok    bool
	}{
		{"", true}, {"after-seal", true}, {"after-seal:2", true},
		{"after-lunch", false}, {"after-seal:0", false}, {"after-seal:x", false}, {":1", true}, {":2", false},
	} {
		name, n := parse(c.value)
		err := check(name, n)
		if (err == nil) != c.ok || err != nil && sqlerr.CodeOf(err) != sqlerr.CodeInvalidParameter {
			t.Errorf("%q: error is %v", c.value, err)
		}
	}
}

// TestNamesAreThePointsOfTheProgram compares Names with the calls in the source.
func TestNamesAreThePointsOfTheProgram(t *testing.T) {
	call := regexp.MustCompile(`\b(?:crashpoint\.Here|crash)\("([^"]+)"\)`)
	used := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range call.FindAllSubmatch(src, -1) {
			if name := string(m[1]); !slices.Contains(Names, name) {
				t.Errorf("%s: crash point %q is not in Names", path, name)
			} else {
				used[name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names {
		if !used[name] {
			t.Errorf("crash point %q is nowhere in the program", name)
		}
	}
}
