package sql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/operators/opcheck"
)

const damageJob = `CREATE TABLE t (k BIGINT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '3' SECOND) WITH ('connector' = 'feed', 'format' = 'json');
CREATE TABLE out (k BIGINT, a BIGINT, b BIGINT) WITH ('connector' = 'feed', 'format' = 'json');
INSERT INTO out SELECT k, COUNT(*), COUNT(DISTINCT v) FROM t GROUP BY k
UNION ALL SELECT 1000 + k, COUNT(*), MAX(v) FROM TUMBLE(t, ts, INTERVAL '10' SECOND) GROUP BY window_start, window_end, k;`

// TestOneBit flips one bit of an object in a data directory or a savepoint. The job then
// goes on from an older checkpoint and says so, or stops with a message that names the
// object; what its sink holds is right in any case, and verifying names the object.
// STREAMSQL_SEED is the first seed, STREAMSQL_FLIPS how many follow.
func TestOneBit(t *testing.T) {
	t.Parallel()
	first, n := fromEnv(t, "STREAMSQL_SEED", 1), fromEnv(t, "STREAMSQL_FLIPS", 50)
	sum := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		w := newDamage(t, seed)
		what, err := w.run()
		if err != nil {
			t.Fatalf("seed %d, %s: %v\n%s\nreplay with: STREAMSQL_SEED=%d STREAMSQL_FLIPS=1 go test ./tests/sql -run TestOneBit", seed, w.object, err, w.log.String(), seed)
		}
		sum[what]++
	}
	t.Logf("%v", sum)
	for _, kind := range []string{"attempt", "blob", "state", "rows", "manifest", "name", "tomb", "savepoint"} {
		seen := 0
		for what, k := range sum {
			if strings.HasPrefix(what, kind) {
				seen += k
			}
		}
		if n >= 50 && seen == 0 {
			t.Errorf("no %s was damaged", kind)
		}
	}
}

type damage struct {
	t      *testing.T
	rng    *rand.Rand
	feed   *feed
	dir    string
	log    *lines
	want   []string
	edges  *opcheck.Edges
	object string // the damaged one
}

func newDamage(t *testing.T, seed uint64) *damage {
	w := &damage{t: t, rng: rand.New(rand.NewPCG(seed, 5)), feed: newFeed(), dir: t.TempDir(), log: &lines{}, edges: new(opcheck.Edges)}
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 40 + w.rng.IntN(200) {
		at := start.Add(time.Duration(i*500+w.rng.IntN(2000)) * time.Millisecond)
		w.feed.tables["t"] = append(w.feed.tables["t"], fmt.Appendf(nil, `{"k":%d,"v":%d,"ts":%q}`, w.rng.IntN(20), w.rng.IntN(9), at.Format("2006-01-02T15:04:05.000")))
	}
	return w
}

func (w *damage) open() (*engine.Engine, error) {
	return engine.Open(context.Background(), engine.Options{DataDir: w.dir, Parallelism: 1 + w.rng.IntN(3), BatchRows: 1 + w.rng.IntN(20),
		Connectors: []connectors.Connector{w.feed.connector()}, Log: slog.New(slog.NewTextHandler(w.log, nil)), WatchEdge: w.edges.Watch,
		Settings: map[string]string{"checkpoint.interval": "2ms", "checkpoint.retained": "2", "restart.attempts": "3"}})
}

// attempt runs the job until it ends, for wait at most; 0 is until its end.
func (w *damage) attempt(how engine.Start, wait time.Duration, then func(*engine.Engine, *engine.Job) error) error {
	ctx := context.Background()
	e, err := w.open()
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	f, err := e.Load("case", damageJob)
	if err != nil {
		return err
	}
	j, err := e.Run(ctx, f, how)
	if err != nil {
		return err
	}
	if wait == 0 {
		wait = time.Minute
	}
	select {
	case <-j.Done():
		return j.Wait()
	case <-time.After(wait):
	}
	if then == nil {
		return fmt.Errorf("the job neither ends nor fails: %+v", j.Status())
	}
	return then(e, j)
}

// run lets a job work for a while, damages what it left and lets it go on. what says
// which kind of object was damaged and how that ended.
func (w *damage) run() (what string, err error) {
	rows := len(w.feed.tables["t"])
	w.feed.reset(rows, 3)
	if err := w.attempt(engine.Start{}, 0, nil); err != nil {
		return "", fmt.Errorf("undamaged: %w", err)
	}
	w.want = w.feed.result()
	w.dir, w.edges = w.t.TempDir(), new(opcheck.Edges)
	w.feed.reset(rows, 3)
	savepoint := w.rng.IntN(5) == 0
	for k := range 2 {
		limit := rows * (k + 1) / 4
		w.feed.allow(limit - 3)
		err := w.attempt(engine.Start{}, time.Duration(20+w.rng.IntN(30))*time.Millisecond, func(_ *engine.Engine, j *engine.Job) error {
			if err := w.checkpoints(j, limit, 3); err != nil {
				return err
			}
			if savepoint && k == 1 {
				return j.Stop(context.Background(), filepath.Join(w.dir, "sp"))
			}
			if w.rng.IntN(2) == 0 { // the last checkpoints stay unconfirmed
				w.feed.refuse(true)
				w.feed.allow(rows/4*(k+1) + 5)
				time.Sleep(15 * time.Millisecond)
			}
			j.Cancel()
			return nil
		})
		w.feed.refuse(false)
		if err != nil {
			return "", fmt.Errorf("before the damage: %w", err)
		}
	}
	w.feed.allow(rows)
	if savepoint {
		return w.savepoint()
	}
	return w.dataDir()
}

// checkpoints lets the last n rows up to limit come one by one, each with a checkpoint: so
// old ones go, however slow the machine is.
func (w *damage) checkpoints(j *engine.Job, limit, n int) error {
	for i := limit - n + 1; i <= limit; i++ {
		before := j.Status().Checkpoints
		w.feed.allow(i)
		for end := time.Now().Add(time.Minute); j.Status().Checkpoints == before; time.Sleep(time.Millisecond) {
			if !j.Running() {
				return fmt.Errorf("the job has ended: %w", j.Wait())
			}
			if time.Now().After(end) {
				return fmt.Errorf("no checkpoint of row %d: %+v", i, j.Status())
			}
		}
	}
	return nil
}

// flip flips a bit of one of the files, all kinds of objects being as likely.
func (w *damage) flip(root string, kindOf func(name string) string) (kind string, err error) {
	files := make(map[string][]string)
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if k := kindOf(filepath.ToSlash(name)); k != "" {
			files[k] = append(files[k], path)
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no files in %s: %w", root, err)
	}
	kinds := slices.Sorted(maps.Keys(files))
	kind = kinds[w.rng.IntN(len(kinds))]
	list := files[kind]
	path := list[len(list)-1]
	if w.rng.IntN(2) == 0 { // not the newest
		path = list[w.rng.IntN(len(list))]
	}
	w.object, _ = filepath.Rel(root, path)
	w.object = filepath.ToSlash(w.object)
	data, err := os.ReadFile(path)
	if err != nil {
		return kind, err
	}
	data[w.rng.IntN(len(data))] ^= 1 << w.rng.IntN(8)
	return kind, os.WriteFile(path, data, 0o644)
}

func (w *damage) dataDir() (string, error) {
	ctx := context.Background()
	e, err := w.open()
	if err != nil {
		return "", err
	}
	state, rows := w.needs(e)
	kind, err := w.flip(filepath.Join(w.dir, "checkpoints"), func(name string) string {
		p := strings.Split(name, "/")
		switch {
		case p[0] == "name":
			return "name"
		case slices.Contains(rows, name):
			return "rows"
		case slices.Contains(state, name) && p[2] == "blob":
			return "state"
		case p[0] == "job" && len(p) > 2:
			return p[2]
		}
		return ""
	})
	if err != nil {
		return "", err
	}
	needed := slices.Contains(state, w.object)
	err = e.VerifyJob(ctx, "case")
	e.Close(ctx)
	if err == nil || !strings.Contains(err.Error(), w.object) {
		return "", fmt.Errorf("verify says %v", err)
	}
	shown := maps.Clone(w.feed.rows)
	told := len(w.log.String())
	err = w.attempt(engine.Start{}, 0, nil)
	if err == nil {
		if got := w.feed.result(); strings.Join(got, "\n") != strings.Join(w.want, "\n") {
			return "", fmt.Errorf("%d rows, want %d:\n%s\nwant\n%s", len(got), len(w.want), strings.Join(got, "\n"), strings.Join(w.want, "\n"))
		}
		if needed && !strings.Contains(w.log.String()[told:], "damaged") {
			return "", errors.New("the job went on from an older checkpoint in silence")
		}
		if needed {
			return kind + ": fell back", nil
		}
		return kind + ": went on", nil
	}
	if err := w.named(err); err != nil {
		return "", err
	}
	if !maps.Equal(shown, w.feed.rows) {
		return "", fmt.Errorf("the job wrote before it stopped")
	}
	return kind + ": stopped", nil
}

// needs lists the objects without which the newest checkpoint cannot be restored, and
// those that its commit needs.
func (w *damage) needs(e *engine.Engine) (state, rows []string) {
	ctx := context.Background()
	id, err := checkpoint.JobOf(ctx, e.Store(), "case")
	if err != nil {
		w.t.Fatal(err)
	}
	epochs, _, err := checkpoint.Epochs(ctx, e.Store(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(epochs) == 0 {
		return nil, nil
	}
	newest := epochs[len(epochs)-1]
	m, _, err := checkpoint.Load(ctx, e.Store(), id, newest)
	if err != nil {
		w.t.Fatal(err)
	}
	state = append(state, checkpoint.ManifestName(id, newest))
	for _, ts := range m.Tasks {
		for _, b := range ts.Blobs {
			state = append(state, b.Name)
		}
	}
	for _, s := range m.Sinks {
		for _, b := range s.Rows {
			rows = append(rows, b.Name)
		}
	}
	return state, rows
}

// named checks that an error is the one for damage and says where it is.
func (w *damage) named(err error) error {
	switch e := sqlerr.As(err); {
	case e == nil || e.Class == sqlerr.Internal:
		return fmt.Errorf("not the error of a damaged checkpoint: %w", err)
	case e.Code != sqlerr.CodeCheckpoint && e.Code != sqlerr.CodeFenced:
		return fmt.Errorf("not the code of a damaged checkpoint: %w", err)
	case !strings.Contains(err.Error(), w.object):
		return fmt.Errorf("the message does not name the object: %w", err)
	}
	return nil
}

func (w *damage) savepoint() (string, error) {
	sp := filepath.Join(w.dir, "sp")
	if _, err := w.flip(sp, func(name string) string { return strings.SplitN(name, "/", 2)[0] }); err != nil {
		return "", err
	}
	ctx := context.Background()
	st, m, err := engine.OpenSavepoint(ctx, sp)
	if err == nil {
		err = checkpoint.Verify(ctx, st, m)
	}
	if err == nil || !strings.Contains(err.Error(), w.object) {
		return "", fmt.Errorf("verify says %v", err)
	}
	shown := maps.Clone(w.feed.rows)
	w.dir, w.edges, w.feed.fence = w.t.TempDir(), new(opcheck.Edges), connectors.Fence{}
	err = w.attempt(engine.Start{FromSavepoint: sp, TakeOver: true}, 0, nil)
	if err == nil {
		return "", errors.New("a job starts from a damaged savepoint")
	}
	if err := w.named(err); err != nil {
		return "", err
	}
	if !maps.Equal(shown, w.feed.rows) {
		return "", fmt.Errorf("the job wrote before it stopped")
	}
	return "savepoint: stopped", nil
}
