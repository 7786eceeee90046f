// Package connectors holds the contracts between the runtime and what is outside:
// sources, sinks and the descriptor by which a connector announces itself.
package connectors

import (
	"context"
	"io"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// OptionType says how an option's text is read.
type OptionType string

const (
	OptString   OptionType = "string"
	OptInt      OptionType = "integer"
	OptBool     OptionType = "boolean"
	OptDuration OptionType = "duration"
	OptEnum     OptionType = "enum"
	OptSecret   OptionType = "secret" // never shown
)

// Option is one key of WITH (…).
type Option struct {
	Name     string
	Aliases  []string // other systems' names for the same thing
	Type     OptionType
	Enum     []string
	Default  string
	Required bool
	// Prefix: Name ends in "." and stands for every key below it.
	Prefix bool
	Doc    string
}

// Metadata is a column that the connector knows of each row beside its payload.
type Metadata struct {
	Name string
	Type types.Type
	Doc  string
}

// Capabilities is what the planner needs to know of a connector for one table.
type Capabilities struct {
	CanRead, CanWrite bool
	// Bounded: a scan with these options ends.
	Bounded bool
	// Splits is 1 when the table is one ordered sequence; 0 is "several".
	Splits int
	// SelfDecoding: rows come and go as columns, no format applies.
	SelfDecoding bool
	// Upserts: the sink can take updates and deletes by key; Changelog: it shows every
	// change as it is (console).
	Upserts, Changelog bool
	// NeedsKey: the sink cannot do without a PRIMARY KEY.
	NeedsKey bool
	// Modes that the sink supports: early writing, commit with the checkpoint.
	Early, Commit bool
	// ForceCommit: these options ask for commit with the checkpoint ("wal",
	// "exactly-once"); ForceEarly for early writing.
	ForceCommit, ForceEarly bool
	// Hidden: early writes are seen only once a Committer has committed the tokens of
	// their writers, so that writing early is exactly once.
	Hidden bool
	// Idempotent: an early write repeated on replay leaves the same result.
	Idempotent bool
	// Replayable: reading again from a position gives the same rows.
	Replayable bool
	// Transient: the sink's rows are gone with the process (console, blackhole).
	Transient bool
}

// Config is a table as declared, ready to open.
type Config struct {
	Table   string
	Options map[string]string // validated, defaults filled in, secrets resolved
	Format  string
	Schema  types.Schema // physical columns (source) or sink columns
	Fields  []string     // source: payload field per column
	Meta    []string     // source: metadata keys wanted, in order
	Key     []int        // sink: PRIMARY KEY
	// Declared are all columns of a sink's table; nil when they are Schema.
	Declared types.Schema
	// Node is the plan node that opens the table: two nodes of a job may open one table.
	Node int
	// Owner is the job that reads; its zero value is a query, which leaves what it reads
	// where it is.
	Owner Owner
	// Subtask and Parallelism of the opener.
	Subtask, Parallelism int
	Env                  Env
}

// Owner is a job as a source sees it.
type Owner struct {
	Job, Name string // id and label
	Attempt   uint64
	// Reset: the position of the table is left aside on purpose, and the options' start is
	// resolved anew.
	Reset bool
	// Replaces is the id of the job whose name this one has taken, "" for none. TakeOver
	// allows it to take the place of any other job.
	Replaces string
	TakeOver bool
	// Interval is the time between two checkpoints.
	Interval time.Duration
}

// Env is what a process gives to its connectors.
type Env struct {
	NATSURL string // default server of the nats connector
	DataDir string
	Stdout  io.Writer // the console sink's target
	// OutputFormat is the console's default format.
	OutputFormat string
}

// Connector is one row of the list in connectors/all.
type Connector struct {
	Name    string
	Doc     string
	Options []Option
	// Metadata columns of a source.
	Metadata []Metadata
	// Capabilities judges validated options; an *sqlerr.Error refuses them.
	Capabilities func(options map[string]string, hasKey bool) (Capabilities, error)
	// CheckColumns judges all columns of a table, physical ones alone, as it is declared;
	// nil takes any. A source is opened for those columns only that are read.
	CheckColumns func(options map[string]string, columns types.Schema) error
	OpenSource   func(ctx context.Context, c Config) (Source, error)
	OpenSink     func(ctx context.Context, c Config) (Sink, error)
}

// Position says where a split is read next. It is JSON, opaque to all but its
// connector, stored in the manifest and read by later versions.
type Position []byte

// Split is one ordered sequence of rows.
type Split struct {
	ID string // stable over restarts
}

// Source reads one table. OpenSource checks that the target exists and fits.
type Source interface {
	// Splits lists the splits in a fixed order. It may do I/O.
	Splits(ctx context.Context) ([]Split, error)
	// Open starts reading split at pos; a nil pos is the start that the options ask for,
	// resolved once (the Reader's first Position carries it). It fails with CodeGap
	// when rows that pos needs are gone and says how many.
	Open(ctx context.Context, split Split, pos Position) (Reader, error)
	Close() error
}

// Releaser is a Source that lets the other side forget rows once no retained
// checkpoint needs them. Release is idempotent.
type Releaser interface {
	Release(ctx context.Context, split Split, pos Position) error
}

// Reserver is a Source whose other side keeps something for the job: a consumer, a slot.
type Reserver interface {
	// Reserve makes sure that it is there, so that from now on no row that the open
	// splits need is forgotten. The runtime calls it once all splits are open and the
	// start is accepted in every other way; a start that is refused leaves no trace.
	Reserve(ctx context.Context) error
	// Finish releases all up to pos, where a bounded split has ended for good, and
	// removes what was kept. The runtime calls it in place of Release once every retained
	// checkpoint has the split ended, or the job has finished. It is idempotent, also where
	// a process died in the midst of it, and needs no open Reader.
	Finish(ctx context.Context, split Split, pos Position) error
}

// Positioned is a Reader that knows its position before its first chunk.
type Positioned interface {
	Position() Position
}

// Reader reads one split in order. One goroutine calls it.
type Reader interface {
	// Next blocks until rows arrive, the caught-up state changes, or ctx ends, and
	// returns the next rows in order. It returns io.EOF after the last rows of a
	// bounded split. Outages of the other side are waited out with back-off and
	// reported through Status; an error is final for the job's attempt.
	Next(ctx context.Context) (*Chunk, error)
	Close() error
}

// Chunk is a run of consecutive rows of a split. Either Payloads or Batch is set, or
// neither when only CaughtUp is news.
type Chunk struct {
	// Payloads are undecoded messages; each may hold several rows.
	Payloads [][]byte
	// Release, if set, gives the payloads' bytes back: once they are decoded, from any
	// goroutine, and once only.
	Release func()
	// Meta has one column per wanted metadata key, one value per payload.
	Meta []*vec.Vector
	// Batch is decoded rows: the wanted columns, then the wanted metadata.
	Batch *vec.Batch
	// Pos is the position after the chunk; replaying from it gives what follows.
	Pos Position
	// Where names a payload's place for dead letters and errors (sequence, offset).
	Where func(i int) (subject, position string)
	// CaughtUp: nothing more is there to be read at the moment.
	CaughtUp bool
	// Pending is the number of rows known to wait behind the chunk, -1 if unknown.
	Pending int64
}

// CommitID names one commit: the same id twice is the same commit.
type CommitID struct {
	Job      string // job id
	Attempt  uint64
	Epoch    stream.Epoch
	Prev     stream.Epoch // the completed epoch before, 0 for none
	Checksum string       // of the manifest that decided it
}

// Sink writes one table.
type Sink interface {
	// Check compares the declared table with the real one: CodeSchema errors name the
	// column, both types, and the CREATE that would fix it.
	Check(ctx context.Context) error
	// OpenWriter opens the writer of a subtask, for plan.Early.
	OpenWriter(ctx context.Context, wc WriterContext) (Writer, error)
	// Group is the identity of the target system ("postgres:<system id>/<database>"),
	// "" for a sink that has nothing to fence. Known after Check.
	Group() string
	// Committer opens the committing side. Sinks with equal Group share one Committer,
	// opened from any of them: their epochs become visible together. Before it opens
	// writers, the runtime calls Acquire on the Committer of every sink whose Group is
	// not empty, early sinks included, so that a stale attempt cannot write.
	Committer(ctx context.Context, job string, attempt uint64) (Committer, error)
	Close() error
}

// WriterContext is what the runtime gives to a writer.
type WriterContext struct {
	Job     string
	Attempt uint64
	Subtask int
	// Refused is called for a row that the target will not take; it returns nil when
	// the row's on.error policy lets the job go on without it.
	Refused func(b *vec.Batch, row int, cause *sqlerr.Error) error
	// Stalled is told why a write waits for the target, and nil when it flows again; it
	// may be nil.
	Stalled func(cause error)
}

// Writer is one subtask's early writer. One goroutine calls it.
type Writer interface {
	// Write takes the rows; they may be buffered until Flush. The batch stays the
	// caller's. It blocks while the target is away and returns an error only when the
	// attempt cannot go on.
	Write(ctx context.Context, b *vec.Batch) error
	// Flush makes everything written so far durable in the target, visible or not.
	// The runtime calls it before it seals an epoch and on linger.
	Flush(ctx context.Context) error
	// Seal ends the epoch after Flush and returns a token for the manifest, nil when
	// there is nothing to commit.
	Seal(ctx context.Context, epoch stream.Epoch) (token []byte, err error)
	Close() error
}

// Fence is what a target remembers of the last commit.
type Fence struct {
	Known    bool
	Job      string
	Attempt  uint64
	Epoch    stream.Epoch
	Checksum string
}

// Identified is a Sink of whose group there are many targets: Identity, after Check, tells
// this one from all others, one of the same name that was made later among them. Rows that
// a checkpoint keeps for one target go to no other.
type Identified interface {
	Identity() string
}

// Relinquisher is a Committer whose claim can be given up. The runtime calls it when a
// job has ended well and every commit is confirmed: the fence stays, so that the job can
// go on later, but another job may claim the targets without asking, and then this one
// has to ask. It is also called when a start was refused: a target of which nothing was
// committed goes back to the job that Acquire claimed it from.
type Relinquisher interface {
	Relinquish(ctx context.Context) error
}

// Holder is a Committer whose fence covers more than one target: HeldBy is the job that
// was the last to claim the sink's own target, "" when none has.
type Holder interface {
	HeldBy(ctx context.Context, s Sink) (job string, err error)
}

// Part is one sink's share of a commit: the tokens of its writers or the rows kept in
// the checkpoint, subtask by subtask.
type Part struct {
	// Node is the plan node of the sink.
	Node   int
	Sink   Sink
	Tokens [][]byte
	// Rows replays the kept rows in order, subtask after subtask; it may be called
	// again when the commit is retried, and forgets what was refused before. Batches
	// stay Rows' own. Parts are applied in order: Rows of a later one may ask a Keeper
	// for what earlier ones have just diverted.
	Rows func(ctx context.Context, yield func(*vec.Batch) error) error
	// Refused is called for a row that the target will not take; it returns nil when
	// the row's on.error policy lets the commit go on without it.
	Refused func(b *vec.Batch, row int, cause *sqlerr.Error) error
	// Diverted gives, piece by piece and nil when there is no more, what Refused has put
	// aside for the dead letters since it was asked last. It is nil for a Committer that
	// is no Keeper, and where nothing is put aside.
	Diverted func() []byte
}

// Keeper is a Committer whose commit keeps, in the same step as rows and fence, what
// Diverted gives: the dead letters are delivered from there. Both methods make one try.
type Keeper interface {
	// Kept reads the pieces that the commit of an epoch kept of the part of a node, in
	// order; those of a commit under way when Rows of one of its parts asks.
	Kept(ctx context.Context, epoch stream.Epoch, node int, yield func([]byte) error) error
	// Forget drops what commits up to epoch kept of the node. It is idempotent.
	Forget(ctx context.Context, epoch stream.Epoch, node int) error
}

// Committer makes epochs visible. One goroutine calls it.
type Committer interface {
	// Fence reads what the target remembers of this job.
	Fence(ctx context.Context) (Fence, error)
	// Acquire claims the targets for this attempt: from then on no earlier attempt can
	// commit or write. sinks are the job's sinks of this group; a target among them that
	// another job has fenced is CodeFenced unless takeOver is set.
	Acquire(ctx context.Context, sinks []Sink, takeOver bool) error
	// Commit applies all parts and the fence in one step. It is idempotent: committing
	// an id that the fence already holds does nothing. CodeFenced when a later attempt
	// owns the target. An error with Retry may have committed; calling again settles it.
	Commit(ctx context.Context, id CommitID, parts []Part) error
	Close() error
}
