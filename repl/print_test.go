package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
)

// screen is a terminal's text, which goes on while it is looked at.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

var goUp = regexp.MustCompile(`\x1b\[(\d+)A\x1b\[J`)

// shown is what a terminal shows after the redrawing: each one goes back over exactly
// the lines drawn before.
func (s *screen) shown(t *testing.T) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := goUp.Split(s.text.String(), -1)
	for i, m := range goUp.FindAllStringSubmatch(s.text.String(), -1) {
		if want := fmt.Sprint(strings.Count(parts[i], "\n")); m[1] != want {
			t.Errorf("goes up %s of %s lines", m[1], want)
		}
	}
	return parts[len(parts)-1]
}

// feed is a table that follows a file.
type feed struct {
	t    *testing.T
	e    *engine.Engine
	path string
}

func newFeed(t *testing.T) *feed {
	f := &feed{t, open(t), filepath.Join(t.TempDir(), "in.json")}
	f.add()
	return f
}

func (f *feed) add(keys ...int) {
	f.t.Helper()
	w, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	defer w.Close()
	for _, k := range keys {
		fmt.Fprintf(w, "{\"k\":%d}\n", k)
	}
}

// query prints a query's rows to a screen until stop.
func (f *feed) query(query, format string, terminal bool) (s *screen, stop func() error) {
	f.t.Helper()
	file, err := f.e.Load("q", "CREATE TABLE i (k BIGINT) WITH (connector = 'file', path = '"+f.path+"', format = 'json', follow = 'true'); "+query)
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	q, err := f.e.Query(ctx, file, file.Queries()[0])
	if err != nil {
		f.t.Fatal(err)
	}
	s = &screen{}
	done := make(chan error, 1)
	go func() { done <- NewPrinter(s, format, terminal).Query(ctx, q) }()
	return s, func() error {
		cancel()
		err := <-done
		q.Stop()
		return err
	}
}

// expect waits until the screen shows these lines; the order of groups is nobody's.
func (f *feed) expect(s *screen, want string) {
	f.t.Helper()
	for end := time.Now().Add(30 * time.Second); sorted(s.shown(f.t)) != sorted(want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("the screen shows\n%s\nwant\n%s", s.shown(f.t), want)
		}
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestLive: on a terminal the result of a query that takes back is redrawn in place.
func TestLive(t *testing.T) {
	f := newFeed(t)
	s, stop := f.query("SELECT k, COUNT(*) AS n FROM i GROUP BY k", "", true)
	f.expect(s, " k | n \n---+---\n(0 rows)\n0 rows in the result, 0 read; Ctrl-C ends the query\n")
	f.add(1)
	f.expect(s, " k | n \n---+---\n 1 | 1\n(1 row)\n1 row in the result, 1 read; Ctrl-C ends the query\n")
	f.add(2, 1)
	f.expect(s, " k | n \n---+---\n 1 | 2\n 2 | 1\n(2 rows)\n2 rows in the result, 3 read; Ctrl-C ends the query\n")
	f.add(2)
	f.expect(s, " k | n \n---+---\n 1 | 2\n 2 | 2\n(2 rows)\n2 rows in the result, 4 read; Ctrl-C ends the query\n")
	for k := range 30 {
		f.add(10 + k)
	}
	eventually(t, func() bool { return strings.Contains(s.shown(t), "32 rows in the result, 34 read") })
	// The 20 newest are shown, with two lines above and two below.
	if got := s.shown(t); strings.Count(got, "\n") != 24 || !strings.Contains(got, "(20 rows)") {
		t.Errorf("the screen shows\n%s", got)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestStream: everything else unbounded prints its changes as they come.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		query, format string
		terminal      bool
		first, second string
	}{
		{"SELECT k FROM i", "", true, " k \n---\n 1\n", " 2\n"},
		{"SELECT k FROM i", "csv", false, "k\n1\n", "2\n"},
		{"SELECT k FROM i", "changelog", false, " op | k \n----+---\n +I | 1\n", " +I | 2\n"},
		{"SELECT COUNT(*) AS n FROM i", "csv", true, "op,n\n+I,0\n-U,0\n+U,1\n", "-U,1\n+U,2\n"},
		{"SELECT COUNT(*) AS n FROM i", "json", false, "{\"op\":\"+I\",\"n\":0}\n{\"op\":\"-U\",\"n\":0}\n{\"op\":\"+U\",\"n\":1}\n", "{\"op\":\"-U\",\"n\":1}\n{\"op\":\"+U\",\"n\":2}\n"},
	} {
		f := newFeed(t)
		s, stop := f.query(c.query, c.format, c.terminal)
		f.add(1)
		f.expect(s, c.first)
		f.add(2)
		f.expect(s, c.first+c.second)
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: ended with %v", c.query, err)
		}
	}
}

// TestOutputClosedEndsScripts: a script whose reader has gone ends, without a word.
func TestOutputClosedEndsScripts(t *testing.T) {
	var errs bytes.Buffer
	o := Options{Engine: open(t), Out: closedPipe{}, Err: &errs}
	err := Script(context.Background(), o, strings.NewReader("SELECT 1;\nSELECT nothing;\n"))
	var stopped *StoppedError
	if !errors.As(err, &stopped) || !OutputClosed(err) || errs.Len() > 0 {
		t.Errorf("%v, %q", err, errs.String())
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }
