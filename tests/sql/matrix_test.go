package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// Outcomes of a start. Others are the code of the error that the job must stop with.
const (
	whole = "whole" // the target holds what all rows make, each once
	since = "since" // it holds what rows from 21 on made of a target that was empty
	twice = "twice" // rows 1 to 20 were written a second time; by key that changes nothing
)

// restoreMatrix says for every way to start a job again what comes of it, in the order of
// matrixModes: upsert early, upsert with the checkpoint, wal, append, nats exactly-once,
// file. Before, the job has shown rows 1 to 20.
var restoreMatrix = []struct {
	name string
	do   func(c *cell)
	want [6]string
}{
	{"newest checkpoint, killed", (*cell).newest, [6]string{whole, whole, whole, whole, whole, whole}},
	{"newest checkpoint, stopped", (*cell).stopped, [6]string{whole, whole, whole, whole, whole, whole}},
	{"older checkpoint", (*cell).older, [6]string{"SS005", "SS005", "SS005", "SS005", "SS005", "SS005"}},
	{"savepoint", (*cell).savepoint, [6]string{whole, whole, whole, whole, whole, whole}},
	{"older savepoint", (*cell).olderSavepoint, [6]string{"SS005", "SS005", "SS005", "SS005", "SS005", "SS005"}},
	{"older savepoint, replayed", (*cell).replayed, [6]string{whole, whole, whole, "SS005", "SS005", "SS005"}},
	{"fork twice", (*cell).forkTwice, [6]string{since, since, since, since, since, since}},
	{"fresh", (*cell).fresh, [6]string{twice, twice, twice, twice, twice, twice}},
	{"renamed job", (*cell).renamed, [6]string{"SS005", "SS005", "SS005", "SS005", "SS005", "SS005"}},
	{"renamed job, taking over", (*cell).takenOver, [6]string{twice, twice, twice, twice, twice, twice}},
	{"other target", (*cell).otherTarget, [6]string{"SS005", "SS005", "SS005", "SS005", "SS005", "SS005"}},
	{"other target, abandoning", (*cell).abandoning, [6]string{since, since, since, since, since, since}},
	{"restored target", (*cell).restoredTarget, [6]string{"SS005", "SS005", "SS005", "SS005", "SS005", "SS005"}},
	{"purged stream", (*cell).purged, [6]string{"SS004", "SS004", "SS004", "SS004", "SS004", "SS004"}},
	{"recreated stream", (*cell).recreated, [6]string{"SS004", "SS004", "SS004", "SS004", "SS004", "SS004"}},
	{"truncated and regrown stream", (*cell).regrown, [6]string{"SS004", "SS004", "SS004", "SS004", "SS004", "SS004"}},
}

// TestRestoreMatrix runs every cell against real servers.
func TestRestoreMatrix(t *testing.T) {
	for col, mode := range matrixModes() {
		t.Run(mode.name, func(t *testing.T) {
			all := newWorld(t)
			for _, row := range restoreMatrix {
				t.Run(row.name, func(t *testing.T) {
					c := &cell{world: all.fresh(t), mode: mode, want: row.want[col]}
					c.begin()
					row.do(c)
					if c.nats != all.nats {
						all.nats = c.nats
						all.connect()
					}
				})
			}
		})
	}
}

// cell is one start of one mode.
type cell struct {
	*world
	mode matrixMode
	want string
	e    *engine.Engine
	j    *engine.Job
	n    int // rows published
}

// begin runs the job until its target shows rows 1 to 20, over several epochs.
func (c *cell) begin() {
	c.files = c.t.TempDir()
	c.exec("CREATE TABLE truth (i bigint, k text)")
	for _, to := range []string{"", "2", "3"} {
		c.mode.make(c.world, to)
	}
	c.e = c.open()
	c.start("job", "", engine.Start{})
	c.epochs(4)
}

// epochs feeds five rows in each of some epochs.
func (c *cell) epochs(n int) {
	c.t.Helper()
	for range n {
		before := c.j.Status().Epoch
		c.feed(5)
		c.shows("", c.mode.all)
		c.eventually("a checkpoint", func() bool { return c.j.Status().Epoch > before })
	}
}

func (c *cell) text(to string) string { return c.source(matrixEvents, "") + c.mode.job(c.world, to) }

// start starts the job, or says that it was refused as it should be.
func (c *cell) start(name, to string, how engine.Start) (running bool) {
	c.t.Helper()
	f, err := c.e.Load(name, c.text(to))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.j, err = c.e.Run(context.Background(), f, how); err == nil {
		return true
	}
	c.refused(err)
	return false
}

func (c *cell) mustNotStart(name, to string, how engine.Start) {
	c.t.Helper()
	if c.start(name, to, how) {
		c.t.Fatalf("the job starts, want %s", c.want)
	}
}

func (c *cell) refused(err error) {
	c.t.Helper()
	if sqlerr.CodeOf(err) != c.want {
		c.t.Fatalf("the job ends with %v (%s), want %s", err, sqlerr.CodeOf(err), c.want)
	}
}

// ends starts the job, which must stop with the code wanted now or soon.
func (c *cell) ends() {
	c.t.Helper()
	before := c.mode.shown(c.world, "")
	if c.start("job", "", engine.Start{}) {
		select {
		case <-c.j.Done():
			c.refused(c.j.Wait())
		case <-time.After(60 * time.Second):
			c.t.Fatalf("the job runs: %+v", c.j.Status())
		}
	}
	c.equal("the target", c.mode.shown(c.world, ""), before)
}

// feed publishes rows and tells PostgreSQL.
func (c *cell) feed(rows int) {
	c.t.Helper()
	for range rows {
		c.n++
		c.publish("ev.a", fmt.Sprintf(`{"k":"k%d","i":%d,"ts":"2024-01-01T00:00:%02d"}`, c.n%3, c.n, c.n))
		c.exec(fmt.Sprintf("INSERT INTO truth VALUES (%d, 'k%d')", c.n, c.n%3))
	}
}

// shows waits until a target holds what PostgreSQL says.
func (c *cell) shows(to, query string) {
	c.t.Helper()
	want := c.rows(query)
	defer func() {
		if c.t.Failed() {
			c.t.Logf("there is:\n%s\n%+v", c.mode.shown(c.world, to), c.j.Status())
		}
	}()
	c.eventually("the target holds\n"+want, func() bool {
		if !c.j.Running() {
			c.t.Fatalf("the job ended: %v", c.j.Wait())
		}
		return c.mode.shown(c.world, to) == want
	})
}

// goesOn feeds ten more rows to the running job and looks at the target.
func (c *cell) goesOn(to string) {
	c.t.Helper()
	c.feed(10)
	switch c.want {
	case whole:
		c.shows(to, c.mode.all)
	case since:
		c.shows(to, c.mode.fresh)
	case twice:
		query := c.mode.all
		if !c.mode.keyed {
			query = `SELECT k || ',' || i FROM (SELECT k, i FROM truth UNION ALL SELECT k, i FROM truth WHERE i <= 20) q ORDER BY (k || ',' || i) COLLATE "C"`
		}
		c.shows(to, query)
	default:
		c.t.Fatalf("the job runs, want %s", c.want)
	}
}

// kill ends the job without a checkpoint, and the engine.
func (c *cell) kill() {
	c.t.Helper()
	c.j.Cancel()
	c.reopen()
}

func (c *cell) stop(savepoint string) {
	c.t.Helper()
	if err := c.j.Stop(soon(c.t), savepoint); err != nil {
		c.t.Fatal(err)
	}
	c.reopen()
}

func (c *cell) reopen() {
	c.t.Helper()
	if err := c.e.Close(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	c.e = c.open()
}

func (c *cell) newest() {
	c.kill()
	c.start("job", "", engine.Start{})
	c.goesOn("")
}

func (c *cell) stopped() {
	c.stop("")
	c.start("job", "", engine.Start{})
	c.goesOn("")
}

// older loses the newest checkpoint, as a restored data directory does.
func (c *cell) older() {
	c.stop("")
	names, err := filepath.Glob(filepath.Join(c.dir, "checkpoints", "job", "*", "manifest", "*"))
	if err != nil || len(names) < 2 {
		c.t.Fatalf("%d checkpoints, %v", len(names), err)
	}
	sort.Strings(names)
	if err := os.Remove(names[len(names)-1]); err != nil {
		c.t.Fatal(err)
	}
	c.ends()
}

func (c *cell) savepoint() {
	sp := filepath.Join(c.t.TempDir(), "sp")
	c.stop(sp)
	c.dir = c.t.TempDir()
	c.e = c.open()
	c.start("job", "", engine.Start{FromSavepoint: sp, TakeOver: true})
	c.goesOn("")
}

// passSavepoint makes a savepoint that the target passes.
func (c *cell) passSavepoint() string {
	sp := filepath.Join(c.t.TempDir(), "sp")
	if err := c.j.Savepoint(context.Background(), sp); err != nil {
		c.t.Fatal(err)
	}
	c.feed(10)
	c.shows("", c.mode.all)
	c.stop("")
	c.dir = c.t.TempDir()
	c.e = c.open()
	return sp
}

func (c *cell) olderSavepoint() {
	c.mustNotStart("job", "", engine.Start{FromSavepoint: c.passSavepoint(), TakeOver: true})
}

func (c *cell) replayed() {
	if c.start("job", "", engine.Start{FromSavepoint: c.passSavepoint(), TakeOver: true, ReplayIntoSinks: true}) {
		c.goesOn("")
	}
}

// forkTwice starts two jobs from one savepoint, each into a target of its own.
func (c *cell) forkTwice() {
	sp := filepath.Join(c.t.TempDir(), "sp")
	c.stop(sp)
	for _, to := range []string{"2", "3"} {
		c.dir = c.t.TempDir()
		c.e = c.open()
		c.start("job", to, engine.Start{FromSavepoint: sp})
	}
	c.feed(10)
	c.shows("2", c.mode.fresh)
	c.shows("3", c.mode.fresh)
}

func (c *cell) fresh() {
	c.kill()
	c.start("job", "", engine.Start{Fresh: true, TakeOver: true})
	c.goesOn("")
}

func (c *cell) renamed() {
	c.kill()
	c.mustNotStart("another", "", engine.Start{})
}

func (c *cell) takenOver() {
	c.kill()
	c.start("another", "", engine.Start{TakeOver: true})
	c.goesOn("")
}

func (c *cell) otherTarget() {
	c.kill()
	c.mustNotStart("job", "2", engine.Start{})
	c.equal("the other target", c.mode.shown(c.world, "2"), "")
}

func (c *cell) abandoning() {
	c.stop("")
	c.start("job", "2", engine.Start{AbandonPending: true})
	c.goesOn("2")
}

// restoredTarget puts an older copy in the target's place.
func (c *cell) restoredTarget() {
	c.kill()
	restore := c.mode.save(c.world)
	c.start("job", "", engine.Start{})
	c.epochs(3)
	c.kill()
	restore()
	c.ends()
}

func (c *cell) purged() {
	c.kill()
	c.feed(10)
	s, err := c.js.Stream(context.Background(), "EVENTS")
	if err != nil {
		c.t.Fatal(err)
	}
	if err := s.Purge(context.Background(), jetstream.WithPurgeSequence(25)); err != nil {
		c.t.Fatal(err)
	}
	c.ends()
}

func (c *cell) recreated() {
	c.kill()
	if err := c.js.DeleteStream(context.Background(), "EVENTS"); err != nil {
		c.t.Fatal(err)
	}
	c.stream("EVENTS", "ev.>")
	c.feed(30)
	c.ends()
}

// regrown puts an older copy in the stream's place, which then grows beyond the position.
func (c *cell) regrown() {
	c.kill()
	restore := c.saveStream("EVENTS")
	c.start("job", "", engine.Start{})
	c.feed(10)
	c.shows("", c.mode.all)
	c.stop("")
	restore()
	c.feed(20)
	c.ends()
}

// saveStream keeps a copy of a stream's files; restore puts it in their place, as an
// administrator does with a backup.
func (w *world) saveStream(name string) (restore func()) {
	w.t.Helper()
	live, saved := filepath.Join(w.natsDir, "jetstream", "$G", "streams", name), filepath.Join(w.t.TempDir(), name)
	w.whileDown(func() { copyDir(w, saved, live) })
	return func() { w.whileDown(func() { copyDir(w, live, saved) }) }
}

// whileDown takes the NATS server down for f.
func (w *world) whileDown(f func()) {
	w.t.Helper()
	port := w.port()
	w.nats.Shutdown()
	f()
	var err error
	if w.nats, err = embedded.Start(w.natsDir, embedded.Options{NoSync: true, Port: port}); err != nil {
		w.t.Fatal(err)
	}
	w.connect()
}
