package sim

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/operators/opcheck"
	"github.com/streamsql/streamsql/planner/plan"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run this seed alone")
	countFlag = flag.Int("sim.count", 200, "number of seeds to run")
)

// TestSimulation runs the job under many seeds. A failure prints how to replay it.
func TestSimulation(t *testing.T) {
	first, n := uint64(1), *countFlag
	if *seedFlag != 0 {
		first, n = *seedFlag, 1
	}
	for seed := first; seed < first+uint64(n); seed++ {
		w := newWorld(t, seed)
		if err := w.run(); err != nil {
			t.Fatalf("seed %d: %v\nreplay: go test ./internal/runtime/sim -run TestSimulation -sim.seed=%d", seed, err, seed)
		}
	}
}

// world is everything that outlives an attempt.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	store *memstore.Store
	table *Table
	// other takes dead letters of db.
	early, db, other *Database
	now              int64
	cfg              runtime.Config
	edges            opcheck.Edges
	zombies          []*runtime.Simulation
	steps            int
	starts           int
}

// locked is a random source that several goroutines may use, as the tests of real
// jobs do.
type locked struct {
	mu  sync.Mutex
	src rand.Source
}

func (l *locked) Uint64() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src.Uint64()
}

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(&locked{src: rand.NewPCG(seed, 1)})
	w := &world{t: t, rng: rng, now: 1e15}
	w.store = memstore.NewFaulty(seed, memstore.Faults{})
	w.table = NewTable(rng, randomSplits(rng))
	w.early, w.db, w.other = NewDatabase("early", rng), NewDatabase("db", rng), NewDatabase("other", rng)
	w.db.Refuse = map[string]int{"hops": rng.IntN(30), "outer": rng.IntN(30)}
	w.db.Seen = w.consistent
	w.cfg = runtime.Config{Plan: jobPlan(t), Store: w.store, Name: "job", SQL: "sim", Program: "test",
		Connector: connectorsOf(w.table, w.early, w.db, w.other),
		Settings: checkpoint.Settings{Interval: int64(1+rng.IntN(50)) * 1000, Timeout: int64(50+rng.IntN(500)) * 1000,
			TolerableFailures: rng.IntN(3) + 1, Retained: 1 + rng.IntN(3), MaxPendingCommits: 1 + rng.IntN(2)},
	}
	w.cfg.WatchEdge = w.edges.Watch
	w.faults(rng.IntN(4))
	return w
}

func connectorsOf(t *Table, databases ...*Database) func(string) (connectors.Connector, bool) {
	return func(name string) (connectors.Connector, bool) {
		for _, d := range databases {
			if d.Name == name {
				return d.Connector(), true
			}
		}
		return t.Connector(), name == "sim"
	}
}

func (w *world) faults(percent int) {
	f := float64(percent) / 100
	w.store.SetFaults(memstore.Faults{Fail: f, Lost: f, Twice: f})
	w.early.Faults, w.db.Faults, w.other.Faults = percent, percent, percent
	w.table.Faults = min(percent, 1)
}

// consistent is the observer: the database shows whole epochs, in which the counts
// add up to the rows.
func (w *world) consistent(stream.Epoch) error {
	rows, counted := 0, 0
	for row, n := range w.db.Tables["rows"].Rows {
		if !strings.HasPrefix(row, "10") || row[3] != ' ' { // not a literal
			rows += n
		}
	}
	for row := range w.db.Tables["counts"].Rows {
		var k, n, s int
		if _, err := fmt.Sscan(row, &k, &n, &s); err != nil {
			return err
		}
		counted += n
	}
	if rows != counted {
		return fmt.Errorf("%d rows and a count of %d", rows, counted)
	}
	return nil
}

// run starts attempt after attempt until the job has finished, then compares.
func (w *world) run() error {
	for {
		if w.starts++; w.starts > 400 {
			return fmt.Errorf("no end after %d starts and %d steps", w.starts, w.steps)
		}
		if w.starts > 12 {
			w.faults(0)
			w.cfg.Settings.Timeout = 60e6
		}
		finished, err := w.attempt()
		if err != nil {
			return err
		}
		if w.db.Broken != nil {
			return w.db.Broken
		}
		if w.early.Broken != nil {
			return w.early.Broken
		}
		if w.other.Broken != nil {
			return w.other.Broken
		}
		if finished {
			return w.compare()
		}
	}
}

// attempt runs one attempt: until it ends, fails, or is killed at a random step.
func (w *world) attempt() (finished bool, err error) {
	cfg := w.cfg
	cfg.Parallelism = 1 + w.rng.IntN(4)
	cfg.BatchRows = 1 + w.rng.IntN(30)
	s, err := runtime.Simulate(context.Background(), cfg, w.now)
	if err == runtime.ErrFinished {
		return true, nil
	}
	if err != nil {
		return false, w.acceptable(err)
	}
	life := 1 + w.rng.IntN(6000)
	if w.starts > 12 {
		life = 1 << 30
	}
	if w.rng.IntN(4) == 0 {
		s.Stop("")
	}
	for step := 0; ; step++ {
		w.steps++
		if step > 400_000 {
			return false, fmt.Errorf("no end after %d steps of an attempt\n%s", step, s.Dump())
		}
		if step >= life {
			if w.rng.IntN(2) == 0 {
				w.zombies = append(w.zombies, s)
			}
			return false, nil
		}
		if len(w.zombies) > 0 && w.rng.IntN(10) == 0 {
			w.stepZombie()
		}
		if w.rng.IntN(20) == 0 {
			w.now += int64(w.rng.IntN(4000))
			s.Tick(w.now)
		}
		s.Step(w.rng.IntN)
		over, stopped, err := s.Outcome()
		if !over {
			continue
		}
		if err != nil {
			return false, w.acceptable(err)
		}
		return !stopped, nil
	}
}

// stepZombie lets an attempt go on that was thought dead.
func (w *world) stepZombie() {
	z := w.zombies[w.rng.IntN(len(w.zombies))]
	if w.rng.IntN(10) == 0 {
		z.Tick(w.now)
	}
	z.Step(w.rng.IntN)
}

// acceptable lets only those errors pass that a fault explains.
func (w *world) acceptable(err error) error {
	if e := sqlerr.As(err); e != nil && e.Class == sqlerr.External && e.Retry {
		return nil
	}
	return err
}

func (w *world) compare() error {
	tables := want(w.table.Splits)
	refused := map[string]*Target{"hops": w.db.Tables["letters"], "outer": w.other.Tables["far"]}
	nodes := map[string]*plan.Node{"hops": w.cfg.Plan.Nodes[10], "outer": w.cfg.Plan.Nodes[12]}
	for _, name := range []string{"windows", "counts", "rows", "hops", "outer"} {
		rows := tables[name]
		t := w.db.Tables[name]
		if t == nil {
			t = w.early.Tables[name]
		}
		have := t.Rows
		if letters := refused[name]; letters != nil {
			have = maps.Clone(have)
			if err := addLetters(have, letters.Rows, nodes[name].Schema); err != nil {
				return err
			}
		}
		if d := diff(have, rows); d != "" {
			return fmt.Errorf("table %q after %d starts and %d steps:\n%s", name, w.starts, w.steps, d)
		}
	}
	return nil
}
