// Package crash kills the built program for real: SIGKILL at named crash points and at
// random moments, with real NATS and PostgreSQL servers that are killed too, and
// compares what the sinks hold at the end with what PostgreSQL computes from the events.
package crash

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/pgtest"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streamsql-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "streamsql")
	out, err := exec.Command("go", "build", "-o", binary, "../../cmd/streamsql").CombinedOutput()
	code := 1
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// world is a NATS server with the bids in a stream, and a PostgreSQL with the same bids
// in table truth.
type world struct {
	t     *testing.T
	nats  *embedded.Server
	url   string
	dir   string // of the NATS server
	pg    *pgtest.Server
	db    *sql.DB
	js    jetstream.JetStream
	bids  int
	flags []string // of every start
}

// newWorld publishes the bids among the first events of the benchmark.
func newWorld(t *testing.T, events int) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), pg: pgtest.Start(t)}
	var err error
	if w.nats, err = embedded.Start(w.dir, embedded.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	w.url = w.nats.URL()
	t.Cleanup(func() { w.nats.Shutdown() })
	nc, err := nats.Connect(w.url, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if w.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "NEXMARK", Subjects: []string{"nexmark.>"}}); err != nil {
		t.Fatal(err)
	}
	w.db = w.pg.Open(t)
	w.exec(`CREATE TABLE truth (auction bigint, bidder bigint, price bigint, channel text, url text, "dateTime" timestamp(3), extra text)`)
	gen := nexmark.New(nexmark.Config{Seed: 7})
	tx, err := w.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.Prepare(`COPY truth (auction, bidder, price, channel, url, "dateTime", extra) FROM STDIN`)
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < int64(events); n++ {
		if nexmark.KindOf(n) != nexmark.KindBid {
			continue
		}
		b := gen.Bid(n)
		if _, err := in.Exec(b.Auction, b.Bidder, b.Price, b.Channel, b.URL, b.DateTime.UTC(), b.Extra); err != nil {
			t.Fatal(err)
		}
		if _, err := w.js.PublishAsync("nexmark.bid", gen.AppendJSON(nil, n), jetstream.WithStallWait(30*time.Second)); err != nil {
			t.Fatal(err)
		}
		w.bids++
	}
	if _, err := in.Exec(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.js.PublishAsyncComplete():
	case <-time.After(60 * time.Second):
		t.Fatal("the events were not published")
	}
	return w
}

// restartNATS ends the server and starts it again on the same streams and port.
func (w *world) restartNATS() {
	w.t.Helper()
	u, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		w.t.Fatal(err)
	}
	w.nats.Shutdown()
	if w.nats, err = embedded.Start(w.dir, embedded.Options{NoSync: true, Port: port}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(stmts ...string) {
	w.t.Helper()
	for _, s := range stmts {
		if _, err := w.db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
}

// bidTable declares the stream; it ends with what is there now.
func (w *world) bidTable() string {
	return fmt.Sprintf(`CREATE TABLE bid (
  auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP(3), extra VARCHAR,
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND
) WITH (connector = 'nats', url = '%s', stream = 'NEXMARK', subject = 'nexmark.bid', 'end' = 'now', format = 'json');
`, w.url)
}

// process is one run of the program.
type process struct {
	cmd    *exec.Cmd
	at     []string // crash points
	stderr bytes.Buffer
	done   chan struct{}
	err    error
}

func (w *world) start(file, data string, env ...string) *process {
	w.t.Helper()
	p := &process{at: env, done: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"run", file, "--data-dir", data, "--parallelism", "2", "--set", "checkpoint.interval=40ms"}, w.flags...)...)
	p.cmd.Stderr = &p.stderr
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	w.t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// ended reports a process that was not killed.
func (p *process) ended(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// begun waits for the first epoch of a job that has not ended.
func (w *world) begun(p *process) {
	w.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; {
		if p.ended(10 * time.Millisecond) {
			w.t.Fatalf("the job ended too early: %v\n%s", p.err, p.stderr.String())
		}
		var n int
		err := w.db.QueryRow("SELECT count(*) FROM streamsql_fence WHERE epoch > 0").Scan(&n)
		if err == nil && n > 0 {
			return
		}
		if time.Now().After(end) {
			_ = p.cmd.Process.Signal(syscall.SIGQUIT)
			p.ended(5 * time.Second)
			w.t.Fatalf("the job makes no checkpoint: %v\n%s", err, p.stderr.String())
		}
	}
}

// killedBySignal reports that the process died of SIGKILL.
func (p *process) killedBySignal() bool {
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) {
		return false
	}
	ws, ok := exit.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}

// crashAt has a process kill itself when it comes to a place for the n-th time.
func crashAt(name string, n int) string {
	return fmt.Sprintf("%s=%s:%d", crashpoint.Variable, name, n)
}

// died waits until a process dies of SIGKILL or ends well, and reports which.
func (w *world) died(p *process) bool {
	w.t.Helper()
	if !p.ended(120 * time.Second) {
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		p.ended(5 * time.Second)
		w.t.Fatalf("the job neither died nor ended\n%s\n%s", p.at, p.stderr.String())
	}
	if p.killedBySignal() {
		return true
	}
	if p.err != nil {
		w.t.Fatalf("the job failed: %v\n%s\n%s", p.err, p.at, p.stderr.String())
	}
	return false
}

// finish lets a last process run to its end.
func (w *world) finish(file, data string) {
	w.t.Helper()
	if w.died(w.start(file, data)) {
		w.t.Fatal("the last process was killed")
	}
}

// same compares two queries on PostgreSQL.
func (w *world) same(got, want string) {
	w.t.Helper()
	g, x := w.pg.Rows(w.t, w.db, got), w.pg.Rows(w.t, w.db, want)
	if len(x) == 0 {
		w.t.Fatalf("nothing to compare with: %s", want)
	}
	if reflect.DeepEqual(g, x) {
		return
	}
	n := 0
	var diff strings.Builder
	have := make(map[string]int)
	for _, r := range g {
		have[r]++
	}
	for _, r := range x {
		if have[r]--; have[r] < 0 && n < 5 {
			fmt.Fprintf(&diff, "missing %s\n", r)
			n++
		}
	}
	for r, k := range have {
		if k > 0 && n < 10 {
			fmt.Fprintf(&diff, "too many (%d) %s\n", k, r)
			n++
		}
	}
	w.t.Fatalf("%d rows, want %d\n%s", len(g), len(x), diff.String())
}

func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name+".sql")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}
