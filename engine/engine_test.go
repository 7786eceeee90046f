package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

const endless = `CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '100');
CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');
INSERT INTO b SELECT id FROM g`

func TestOpenRefusesSettings(t *testing.T) {
	if _, err := engine.Open(context.Background(), engine.Options{Settings: map[string]string{"nosuch": "1"}}); sqlerr.CodeOf(err) != sqlerr.CodeUndefinedObject {
		t.Errorf("got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "f")
	write(t, dir, "a file")
	if _, err := engine.Open(context.Background(), engine.Options{DataDir: dir}); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
		t.Errorf("got %v", err)
	}
}

// TestClose: jobs get a last checkpoint, queries end, the temporary directory goes, and
// nothing starts any more.
func TestClose(t *testing.T) {
	ctx := context.Background()
	before := runtime.NumGoroutine()
	e, err := engine.Open(ctx, engine.Options{Settings: map[string]string{"checkpoint.interval": "1h"}})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Temporary() {
		t.Error("the data directory is not temporary")
	}
	j, err := e.Run(ctx, load(t, e, "j", endless), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	f := load(t, e, "q", strings.Replace(endless, "INSERT INTO b ", "", 1))
	q, err := e.Query(ctx, f, f.Queries()[0])
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "rows", func() bool { return j.Status().RowsIn > 0 && q.Status().RowsIn > 0 })
	shut(t, e)
	if st := j.Status(); st.State != "stopped" || st.Checkpoints != 1 {
		t.Errorf("the job is %s after %d checkpoints", st.State, st.Checkpoints)
	}
	q.Stop()
	if st := q.Status().State; st != "cancelled" {
		t.Errorf("the query is %s", st)
	}
	if _, err := os.Stat(e.DataDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory: %v", err)
	}
	if _, err := e.Run(ctx, load(t, e, "k", endless), engine.Start{}); sqlerr.CodeOf(err) != sqlerr.CodeCancelled {
		t.Errorf("run: %v", err)
	}
	if _, err := e.Query(ctx, f, f.Queries()[0]); sqlerr.CodeOf(err) != sqlerr.CodeCancelled {
		t.Errorf("query: %v", err)
	}
	if _, err := e.NATSURL(); sqlerr.CodeOf(err) != sqlerr.CodeCancelled {
		t.Errorf("nats: %v", err)
	}
	shut(t, e) // a second time does nothing
	eventually(t, "end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
}

// TestCloseInTime: a job that cannot take its last checkpoint is cancelled.
func TestCloseInTime(t *testing.T) {
	e, err := engine.Open(context.Background(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := e.Run(context.Background(), load(t, e, "j", endless), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err = e.Close(ctx)
	if j.Running() || err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("running %v, %v", j.Running(), err)
	}
}

// TestStartGivenUp: the end of the context ends a start that hangs, and nothing that has
// started.
func TestStartGivenUp(t *testing.T) {
	hang, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer hang.Close()
	e := open(t, engine.Options{})
	text := `CREATE TABLE p (id BIGINT PRIMARY KEY) WITH (connector = 'postgres', url = 'postgres://u@` + hang.Addr().String() + `/d?sslmode=disable', table = 'p');
INSERT INTO p VALUES (1)`
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := e.Run(ctx, load(t, e, "p", text), engine.Start{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("the start gives %v after %v", err, time.Since(begin))
	}
	// So does the engine's end.
	other := open(t, engine.Options{})
	ended := make(chan error, 1)
	go func() {
		_, err := other.Run(context.Background(), load(t, other, "p", text), engine.Start{})
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	shut(t, other)
	select {
	case err := <-ended:
		if sqlerr.CodeOf(err) != sqlerr.CodeCancelled {
			t.Errorf("a start at the engine's end gives %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a start outlives its engine")
	}
	ctx, cancel = context.WithCancel(context.Background())
	j, err := e.Run(ctx, load(t, e, "j", endless), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	n := j.Status().RowsIn
	eventually(t, "more rows", func() bool { return j.Status().RowsIn > n })
	if !j.Running() {
		t.Error("the job has ended with the context of its start")
	}
}

// TestOneJobAName: of several starts under one name one wins.
func TestOneJobAName(t *testing.T) {
	e := open(t, engine.Options{})
	f := load(t, e, "j", endless)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() { _, errs[i] = e.Run(context.Background(), f, engine.Start{}) })
	}
	wg.Wait()
	started := 0
	for _, err := range errs {
		switch {
		case err == nil:
			started++
		case sqlerr.CodeOf(err) != sqlerr.CodeDuplicateTable:
			t.Errorf("got %v", err)
		}
	}
	if started != 1 {
		t.Errorf("%d of %d started", started, len(errs))
	}
}

// TestTwoEngines use one data directory: their jobs live side by side, one of them runs
// the embedded server, and the later attempt at one job ends the earlier.
func TestTwoEngines(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, engine.Options{DataDir: dir}), open(t, engine.Options{DataDir: dir})
	if _, err := one.NATSURL(); err != nil {
		t.Fatal(err)
	}
	_, err := two.NATSURL()
	if e := sqlerr.As(err); e == nil || e.Code != sqlerr.CodeNotReady || !strings.Contains(e.Msg, "in use by another streamsql") || e.Hint == "" {
		t.Fatalf("got %v", err)
	}
	shut(t, one)
	if _, err := two.NATSURL(); err != nil {
		t.Errorf("the directory is free again: %v", err)
	}
	three := open(t, engine.Options{DataDir: dir})
	var jobs []*engine.Job
	for _, e := range []*engine.Engine{two, three} {
		j, err := e.Run(context.Background(), load(t, e, "j", endless), engine.Start{})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	if err := ended(t, jobs[0]); sqlerr.CodeOf(err) != sqlerr.CodeFenced {
		t.Errorf("the earlier attempt ended with %v", err)
	}
	if !jobs[1].Running() {
		t.Errorf("the later attempt ended with %v", jobs[1].Wait())
	}
}

// TestQueryStop: a query whose reader goes away ends, at whatever moment.
func TestQueryStop(t *testing.T) {
	e := open(t, engine.Options{Parallelism: 2})
	f := load(t, e, "q", `CREATE TABLE g (id BIGINT, s VARCHAR) WITH (connector = 'generator', kind = 'columns'); SELECT * FROM g`)
	for read := range 3 {
		q, err := e.Query(context.Background(), f, f.Queries()[0])
		if err != nil {
			t.Fatal(err)
		}
		for range read {
			b, err := q.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		q.Stop()
		q.Stop()
		if _, err := q.Next(context.Background()); !errors.Is(err, context.Canceled) {
			t.Errorf("after Stop: %v", err)
		}
	}
}

func TestCheck(t *testing.T) {
	e := open(t, engine.Options{})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in"), "{}")
	file := func(path string) string {
		return "CREATE TABLE i (id BIGINT) WITH (connector = 'file', path = '" + path + "', format = 'json');\nCREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');\nINSERT INTO b SELECT id FROM i"
	}
	if err := e.Check(context.Background(), load(t, e, "c", file(filepath.Join(dir, "in")))); err != nil {
		t.Error(err)
	}
	bad := file(filepath.Join(dir, "nosuch", "in"))
	if err := e.Check(context.Background(), load(t, e, "c", bad)); err == nil || !strings.Contains(rendered(err, bad), "LINE ") {
		t.Errorf("a file that is not there gives %s", rendered(err, bad))
	}
	nats := "CREATE TABLE n (id BIGINT) WITH (connector = 'nats', stream = 'NOSUCH', format = 'json');\nSELECT id FROM n"
	if err := e.Check(context.Background(), load(t, e, "c", nats)); err == nil || !strings.Contains(rendered(err, nats), "NOSUCH") {
		t.Errorf("a stream that is not there gives %s", rendered(err, nats))
	}
	if list, err := e.StoredJobs(context.Background()); err != nil || len(list) > 0 {
		t.Errorf("a check leaves jobs %q, %v", list, err)
	}
}

// TestCounters: a status counts rows in and out, late ones and broken ones, and so does
// that of the next run.
func TestCounters(t *testing.T) {
	for policy, want := range map[string]engine.Counts{
		"skip":        {RowsIn: 3, RowsOut: 1, Late: 1, Broken: 2},
		"dead-letter": {RowsIn: 3, RowsOut: 1, DeadLetters: 3},
	} {
		t.Run(policy, func(t *testing.T) { testCounters(t, policy, want) })
	}
}

func testCounters(t *testing.T, policy string, want engine.Counts) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.json")
	write(t, in, `{"v":1,"ts":"2024-01-01 00:00:05"}`, `{"v":2,"ts":"2024-01-01 00:00:25"}`, `{"v":3,"ts":"2024-01-01 00:00:09"}`, `{"v":"x","ts":"2024-01-01 00:00:26"}`, `nonsense`)
	text := `CREATE TABLE i (v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (connector = 'file', path = '` + in + `', format = 'json', follow = 'true',
  'on.error' = '` + policy + `', 'late.rows' = '` + map[string]string{"skip": "drop", "dead-letter": policy}[policy] + `', 'dead-letter.table' = 'letters');
CREATE TABLE letters (error_code STRING) WITH (connector = 'blackhole');
CREATE TABLE b (ws TIMESTAMP(3), n NUMERIC) WITH (connector = 'blackhole');
INSERT INTO b SELECT window_start, SUM(v) FROM TUMBLE(i, ts, INTERVAL '10' SECOND) GROUP BY window_start, window_end`
	e := open(t, engine.Options{Parallelism: 1})
	j, err := e.Run(context.Background(), load(t, e, "j", text), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	// 1 and 3 are of one window, which 2 has closed: 3 is late.
	eventually(t, "counts", func() bool {
		st := j.Status()
		return st.State == "running" && st.Counts == want
	})
	if err := j.Stop(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if j, err = e.Run(context.Background(), load(t, e, "j", text), engine.Start{}); err != nil {
		t.Fatal(err)
	}
	if st := j.Status(); st.Counts != want {
		t.Errorf("after a restart %+v", st)
	}
}

// TestMemory: a running job tells what its keys, the rows between its tasks and the rows
// kept for the commit take; one that has ended holds nothing.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.json")
	const keys = 20_000
	rows := make([]string, keys)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"k":"key %032d"}`, i)
	}
	write(t, in, rows...)
	text := `CREATE TABLE i (k STRING) WITH (connector = 'file', path = '` + in + `', format = 'json', follow = 'true');
CREATE TABLE o (k STRING NOT NULL, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (connector = 'postgres', dsn = '` + pgtest.Start(t).DSN + `', table = 'o', mode = 'wal', 'auto.create' = 'true');
SET 'checkpoint.interval' = '1 HOUR';
INSERT INTO o SELECT k, COUNT(*) FROM i GROUP BY k`
	e := open(t, engine.Options{Parallelism: 2})
	j, err := e.Run(context.Background(), load(t, e, "j", text), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "memory", func() bool {
		st := j.Status()
		byNode := int64(0)
		for _, n := range st.Nodes {
			byNode += n.State
		}
		// A key is 36 bytes, and so is what is kept of it at least.
		return st.RowsOut >= keys && st.Memory.State > 36*keys && byNode == st.Memory.State && st.Memory.Kept > 36*keys &&
			st.Memory.Sum() >= st.Memory.State+st.Memory.Kept
	})
	if err := j.Stop(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	if st := j.Status(); st.Memory.Sum() != 0 {
		t.Errorf("after the end %+v", st.Memory)
	}
}

// TestReset goes back to what the engine was opened with, not to the default.
func TestReset(t *testing.T) {
	e := open(t, engine.Options{Settings: map[string]string{"parallelism": "5"}})
	s := e.NewSession()
	for _, reset := range []string{"RESET 'parallelism'", "RESET ALL"} {
		got := execAll(s, "SET 'parallelism' = 3; "+reset+"; SHOW SETTINGS")
		if !strings.Contains(got, "\nparallelism|5|0|") {
			t.Errorf("%s\n%s", reset, got)
		}
	}
}
