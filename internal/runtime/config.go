package runtime

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/clock"
	"github.com/streamsql/streamsql/planner/plan"
)

// Config is a job to run.
type Config struct {
	Plan *plan.Plan
	// Store keeps checkpoints and kept rows.
	Store checkpoint.Store
	// Name is the job's label: a second start under the same name and in the same store
	// goes on where the first was.
	Name string
	// SQL is the text of the job, ${NAME} unresolved.
	SQL string
	// Program is the version that is written into manifests.
	Program string
	// Connector finds a connector by name.
	Connector func(name string) (connectors.Connector, bool)
	Env       connectors.Env
	Clock     clock.Clock // nil for the system's
	Settings  checkpoint.Settings
	// Parallelism of nodes that do not say theirs; 0 is 1.
	Parallelism int
	// BatchRows is the target size of operators' batches; 0 is theirs to choose.
	BatchRows int
	// Fresh starts under a new job id, forgetting the name's checkpoints. TakeOver lets
	// the job claim targets that another job has fenced.
	Fresh, TakeOver bool
	// ReplayIntoSinks lets a job start from a savepoint that is older than what its keyed
	// sinks hold.
	ReplayIntoSinks bool
	// Carry says how a checkpoint is gone on with that another plan made, nil when this one
	// did. An error forbids to start from it; what comes beside it still tells where its
	// positions belong. nil when all checkpoints are of this plan.
	Carry func(m *checkpoint.Manifest) (*plan.Carry, error)
	// AbandonPending goes on without what a checkpoint holds for sinks that the plan no
	// longer has, or whose target is another.
	AbandonPending bool
	// ResetSource gives tables another position than that of the checkpoint, in the form of
	// their option "start". The next checkpoint records it.
	ResetSource map[string]string
	// Query leaves what is read where it is: the positions are kept nowhere.
	Query bool
	// Continue starts a finished job again at its positions.
	Continue bool
	// Savepoint is the store of a savepoint to start from, when there is no checkpoint of
	// the job's own yet; nil for none.
	Savepoint checkpoint.Store
	// OpenSavepoint gives the store to write a savepoint to.
	OpenSavepoint func(path string) (checkpoint.Store, error)
	// Resolve replaces ${NAME} in an option; nil leaves options as they are.
	Resolve func(value string) (string, error)
	Logger  *slog.Logger // nil for none
	// Restart says how often and how fast a failed job is started again.
	Restart Restart
	// OnRestart is told of every restart; may be nil.
	OnRestart func(err error, wait time.Duration)
	// WatchEdge sees everything that travels; nil outside tests.
	WatchEdge WatchEdge

	first    uint64 // number of this run's first attempt, 0 until it is known
	replaces string // id of the job whose name this one takes
}

// Restart is the restart strategy: exponential back-off from Initial to Max. Attempts
// bounds the restarts without a completed checkpoint in between; 0 is any number, a
// negative number none.
type Restart struct {
	Attempts     int
	Initial, Max time.Duration
}

func (c Config) withDefaults() Config {
	if c.Parallelism <= 0 {
		c.Parallelism = 1
	}
	if c.Clock == nil {
		c.Clock = clock.System
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Restart.Initial <= 0 {
		c.Restart.Initial = 100 * time.Millisecond
	}
	if c.Restart.Max <= 0 {
		c.Restart.Max = 30 * time.Second
	}
	c.Settings = c.Settings.WithDefaults()
	return c
}

// tickClock is the time that an attempt's tasks see: that of the last tick.
type tickClock struct{ us atomic.Int64 }

func (c *tickClock) now() int64 { return c.us.Load() }

// sleep waits unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
