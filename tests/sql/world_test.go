package sql

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/operators/opcheck"
)

// world is a NATS server with a stream EVENTS (ev.>) and a PostgreSQL, and the data
// directory of an engine that may be opened again and again. Tests with worlds of their
// own run beside each other.
type world struct {
	t    *testing.T
	nats *embedded.Server
	js   jetstream.JetStream
	pg   *pgtest.Server
	db   *sql.DB
	dir  string
	// natsDir is where the NATS server keeps its streams.
	natsDir string
	files   string // of a cell of the restore matrix
	log     *lines
	// edges are those of the jobs in dir.
	edges *opcheck.Edges
}

// lines keeps what an engine logs.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, pg: pgtest.Start(t), dir: t.TempDir(), natsDir: t.TempDir(), log: &lines{}, edges: new(opcheck.Edges)}
	var err error
	if w.nats, err = embedded.Start(w.natsDir, embedded.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.nats.Shutdown() })
	w.connect()
	w.stream("EVENTS", "ev.>")
	w.db = w.pg.Open(t)
	return w
}

// connect makes a connection to the NATS server for the test's own use.
func (w *world) connect() {
	w.t.Helper()
	nc, err := nats.Connect(w.nats.URL())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(nc.Close)
	if w.js, err = jetstream.New(nc); err != nil {
		w.t.Fatal(err)
	}
}

// port is where the NATS server listens.
func (w *world) port() int {
	w.t.Helper()
	_, text, err := net.SplitHostPort(strings.TrimPrefix(w.nats.URL(), "nats://"))
	if err != nil {
		w.t.Fatal(err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) stream(name string, subjects ...string) {
	w.t.Helper()
	// A stream of this name that was just deleted may still be leaving the disk.
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := w.js.CreateOrUpdateStream(context.Background(), jetstream.StreamConfig{Name: name, Subjects: subjects})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal(err)
		}
	}
}

// fresh empties the stream and the database, and takes another data directory.
func (w *world) fresh(t *testing.T) *world {
	t.Helper()
	x := *w
	x.t, x.dir, x.log, x.edges = t, t.TempDir(), &lines{}, new(opcheck.Edges)
	if err := x.js.DeleteStream(context.Background(), "EVENTS"); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Fatal(err)
	}
	x.stream("EVENTS", "ev.>")
	x.exec("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
	return &x
}

func (w *world) exec(stmts ...string) {
	w.t.Helper()
	for _, s := range stmts {
		if _, err := w.db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
}

func (w *world) publish(subject string, payloads ...string) {
	w.t.Helper()
	for _, p := range payloads {
		if _, err := w.js.Publish(context.Background(), subject, []byte(p)); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) rows(query string) string {
	w.t.Helper()
	return strings.Join(w.pg.Rows(w.t, w.db, query), "\n")
}

// source declares table ev on the stream; more is further options.
func (w *world) source(columns, more string) string {
	return fmt.Sprintf("CREATE TABLE ev (%s) WITH (connector = 'nats', url = '%s', stream = 'EVENTS', format = 'json'%s);\n", columns, w.nats.URL(), more)
}

// sink declares a table of PostgreSQL.
func (w *world) sink(name, columns, more string) string {
	return fmt.Sprintf("CREATE TABLE %s (%s) WITH (connector = 'postgres', url = '%s'%s);\n", name, columns, w.pg.DSN, more)
}

// letters declares the dead letters as a table of PostgreSQL.
func (w *world) letters() string {
	return w.sink("letters", "table_name VARCHAR, error_code VARCHAR, error VARCHAR, field VARCHAR, subject VARCHAR, position VARCHAR, payload BYTES", ", mode = 'append', 'auto.create' = 'true'")
}

func (w *world) open(settings ...string) *engine.Engine {
	w.t.Helper()
	set := map[string]string{"checkpoint.interval": "20ms"}
	for i := 0; i < len(settings); i += 2 {
		set[settings[i]] = settings[i+1]
	}
	e, err := engine.Open(context.Background(), engine.Options{DataDir: w.dir, Parallelism: 2, Settings: set,
		Vars: map[string]string{"PASSWORD": "hunter2-wrong"},
		Log:  slog.New(slog.NewTextHandler(w.log, nil)), WatchEdge: w.edges.Watch})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		for _, j := range e.Jobs() {
			j.Cancel()
		}
		_ = e.Close(context.Background())
	})
	return e
}

// start runs a job file.
func (w *world) start(e *engine.Engine, text string) (*engine.Job, error) {
	f, err := e.Load("job", text)
	if err != nil {
		return nil, err
	}
	return e.Run(context.Background(), f, engine.Start{})
}

// run runs a bounded job file to its end.
func (w *world) run(text string) (engine.Status, error) {
	w.t.Helper()
	e := w.open()
	defer e.Close(context.Background())
	j, err := w.start(e, text)
	if err != nil {
		return engine.Status{}, err
	}
	err = w.ended(j)
	return j.Status(), err
}

// ended waits for the end of a job.
func (w *world) ended(j *engine.Job) error {
	w.t.Helper()
	select {
	case <-j.Done():
	case <-time.After(60 * time.Second):
		w.t.Fatalf("the job does not end: %+v\n%s", j.Status(), w.log.String())
	}
	return j.Wait()
}

func (w *world) mustRun(text string) engine.Status {
	w.t.Helper()
	st, err := w.run(text)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.log.String())
	}
	return st
}

// eventually waits until ok.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	w.t.Fatalf("%s: not within 60 s\n%s", what, w.log.String())
}

// errorsOf gives the counted row errors of all nodes by code.
func errorsOf(st engine.Status) map[string]int64 {
	out := map[string]int64{}
	for _, n := range st.Nodes {
		for code, k := range n.Errors {
			out[code] += k
		}
		for code, k := range n.Letters {
			out[code] += k
		}
	}
	return out
}

func (w *world) equal(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}
