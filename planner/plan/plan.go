// Package plan is the physical plan: plain data that the planner writes and the
// runtime reads. Its JSON form is stored in every manifest, and a job whose text did
// not change restarts from it in every later version.
package plan

import (
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// Version is the version of the format; a reader refuses a newer one by name.
const Version = 1

// Plan is a job as a DAG of nodes in topological order: an input's ID is smaller
// than its consumer's. IDs are indexes into Nodes.
type Plan struct {
	Version   int     `json:"version"`
	Nodes     []*Node `json:"nodes"`
	KeyGroups int     `json:"key_groups"`
	// TimeZone is the session's zone when the plan was made.
	TimeZone string `json:"time_zone"`
	// Guarantee is the end-to-end consistency and what weakens it.
	Guarantee Guarantee `json:"guarantee"`
	// OrderSensitive lists what of the answer depends on the order in which rows arrive.
	OrderSensitive []string `json:"order_sensitive,omitempty"`
	// Notices are the planner's warnings.
	Notices []string `json:"notices,omitempty"`
}

// Guarantee is what EXPLAIN states about delivery.
type Guarantee struct {
	Level string `json:"level"` // "exactly once", "at least once", "at most once"
	// Reasons are what weakens it.
	Reasons []string `json:"reasons,omitempty"`
}

// Exchange is how rows get from a producer's subtasks to a consumer's.
type Exchange string

const (
	// Forward keeps a row in its subtask; producer and consumer have the same
	// parallelism and may be chained into one task.
	Forward Exchange = "forward"
	// Hash sends a row to the subtask that owns the key group of its Keys.
	Hash Exchange = "hash"
	// Gather sends every row to the only subtask of the consumer.
	Gather Exchange = "gather"
	// Spread deals batches out to the consumer's subtasks in turn; only for rows
	// whose order does not matter.
	Spread Exchange = "spread"
)

// Port names an output of a node.
type Port string

const (
	// Rows is the output proper.
	Rows Port = ""
	// Errors carries the rows that failed, in the schema DeadLetterSchema.
	Errors Port = "errors"
	// Late carries the rows that were late, in the schema DeadLetterSchema.
	Late Port = "late"
)

// Edge is one input of a node.
type Edge struct {
	From     int      `json:"from"`
	Port     Port     `json:"port,omitempty"`
	Exchange Exchange `json:"exchange"`
	Keys     []int    `json:"keys,omitempty"` // columns of the producer
}

// ChangelogMode is what kinds of rows an edge carries.
type ChangelogMode string

const (
	// Append: inserts only.
	Append ChangelogMode = "append"
	// Upsert: inserts and updates by Key without their old halves, and deletes by key.
	Upsert ChangelogMode = "upsert"
	// Retract: every change with its old half.
	Retract ChangelogMode = "retract"
)

// Node is one operator.
type Node struct {
	ID     int          `json:"id"`
	Inputs []Edge       `json:"inputs,omitempty"`
	Schema types.Schema `json:"schema"`
	// Role is the stable name by which state is matched after the query changed: the
	// table for a source or sink, else the path of roles from the sink.
	Role string `json:"role"`
	// Parallelism is the number of subtasks; 0 is the job's.
	Parallelism int `json:"parallelism,omitempty"`

	Changelog ChangelogMode `json:"changelog"`
	// Key is a set of columns that identifies a live row of the output, or nil.
	Key []int `json:"key,omitempty"`
	// Time is the column that is event time, or -1.
	Time int `json:"time"`
	// Deterministic: replaying the input from a checkpoint gives the same rows.
	Deterministic bool `json:"deterministic"`

	// OnError is what happens to a row whose expression fails: "fail", "skip" or
	// "dead-letter" (to the Errors port).
	OnError string `json:"on_error,omitempty"`

	// Exactly one of these is set.
	Source      *Source      `json:"source,omitempty"`
	Values      *Values      `json:"values,omitempty"`
	Calc        *Calc        `json:"calc,omitempty"`
	Stamp       *Stamp       `json:"stamp,omitempty"`
	Assign      *Assign      `json:"assign,omitempty"`
	WindowAgg   *WindowAgg   `json:"window_agg,omitempty"`
	GroupAgg    *GroupAgg    `json:"group_agg,omitempty"`
	Union       *Union       `json:"union,omitempty"`
	Materialize *Materialize `json:"materialize,omitempty"`
	Sink        *Sink        `json:"sink,omitempty"`
}

// Source scans a table. The columns read are Read; Virtual columns are computed from
// them; Schema of the node is Read's types followed by Virtual's, then projected by
// Output.
type Source struct {
	Table     string            `json:"table"`
	Connector string            `json:"connector"`
	Options   map[string]string `json:"options"` // as written: ${NAME} unresolved
	Format    string            `json:"format"`
	Read      []ReadColumn      `json:"read"`
	Virtual   []*expr.Expr      `json:"virtual,omitempty"` // over Read columns then earlier Virtual ones
	// Watermark is the WATERMARK expression over Read and Virtual columns, or nil;
	// TimeColumn is the column it is for.
	Watermark   *expr.Expr `json:"watermark,omitempty"`
	TimeColumn  int        `json:"time_column"`
	IdleTimeout int64      `json:"idle_timeout,omitempty"` // microseconds, 0 = never idle
	// Predicate over Read and Virtual columns, applied after time and watermark; nil
	// for all rows.
	Predicate *expr.Expr `json:"predicate,omitempty"`
	Output    []int      `json:"output"` // which of Read and Virtual columns come out
	OnError   string     `json:"on_error"`
	LateRows  string     `json:"late_rows,omitempty"` // "drop" or "dead-letter"
	Bounded   bool       `json:"bounded,omitempty"`
	Pos       sqlerr.Pos `json:"pos,omitempty"`
}

// ReadColumn is a physical or metadata column of a table.
type ReadColumn struct {
	types.Column
	// Field is the name in the payload; Metadata is the connector's key instead.
	Field    string `json:"field,omitempty"`
	Metadata string `json:"metadata,omitempty"`
}

// Values is a bounded source of literal rows.
type Values struct {
	Rows [][]types.Value `json:"rows"`
}

// Calc filters and projects. Predicate may be nil.
type Calc struct {
	Predicate *expr.Expr   `json:"predicate,omitempty"`
	Exprs     []*expr.Expr `json:"exprs"`
}

// Stamp appends the moment at which a row passes, by the runtime's clock, once for every
// type and cut to its precision. Inputs only grow: a row that is taken back would have
// to be taken back with the moment at which it came.
type Stamp struct {
	Types []types.Type `json:"types"`
	// Timed: the first of Types is event time from here on. The watermark is the clock's,
	// and that of the input counts no more but for its end.
	Timed bool `json:"timed,omitempty"`
}

// Window is the shape of a windowing: all lengths in microseconds.
// A row with time t belongs to every [start, start+Size) that holds t with
// start = Offset (mod Slide). Flink's TUMBLE and HOP.
type Window struct {
	Kind   string `json:"kind"` // "tumble" or "hop"
	Size   int64  `json:"size"`
	Slide  int64  `json:"slide"` // = Size for tumble
	Offset int64  `json:"offset,omitempty"`
	// Tick is one step of the time column: the window fires when the watermark is at
	// least end - Tick.
	Tick int64 `json:"tick"`
	// TimeType is the type of window_start, window_end and window_time.
	TimeType types.Type `json:"time_type"`
}

// Assign appends window_start, window_end and window_time to each row, once per
// window it belongs to, and drops the copies whose window has fired (counted as
// late). The row's time column is Time of the input.
type Assign struct {
	Window Window `json:"window"`
	Time   int    `json:"time"` // input column
}

// WindowProp is a window column in the output of WindowAgg.
type WindowProp string

const (
	WindowStart WindowProp = "start"
	WindowEnd   WindowProp = "end"
	WindowTime  WindowProp = "time"
)

// WindowAgg groups by window and Keys. Its output columns are Keys, then Aggs, then
// Props, in this order; rows come out once, when the watermark closes the window.
type WindowAgg struct {
	Window Window         `json:"window"`
	Time   int            `json:"time"` // input column
	Keys   []int          `json:"keys"`
	Aggs   []expr.AggCall `json:"aggs"`
	Props  []WindowProp   `json:"props"`
}

// GroupAgg is an updating GROUP BY: output is Keys then Aggs. Without Keys there is
// one group, which exists from the start.
type GroupAgg struct {
	Keys []int          `json:"keys"`
	Aggs []expr.AggCall `json:"aggs"`
	// Changing: rows may be taken back, and some aggregate must keep more for it than over
	// rows that only come.
	Changing bool `json:"changing,omitempty"`
}

// Union passes the rows of all inputs on.
type Union struct{}

// Materialize stands before an upsert sink whose key does not contain the
// changelog's key: it keeps the live rows of every sink key and lets the newest show.
type Materialize struct {
	Key []int `json:"key"`
}

// SinkMode is how rows reach the target.
type SinkMode string

const (
	// Early: written as they come; replay writes the same again.
	Early SinkMode = "early"
	// Commit: kept in the checkpoint and applied when it is complete.
	Commit SinkMode = "commit"
)

// Sink writes a table.
type Sink struct {
	Table     string            `json:"table"`
	Connector string            `json:"connector"`
	Options   map[string]string `json:"options"`
	Format    string            `json:"format,omitempty"`
	// Columns are the target's columns for the input columns, in order.
	Columns types.Schema `json:"columns"`
	// Declared are all columns of the table; nil when they are Columns.
	Declared types.Schema `json:"declared,omitempty"`
	Key      []int        `json:"key,omitempty"` // PRIMARY KEY, as positions in Columns
	Mode     SinkMode     `json:"mode"`
	// Why says what decided the mode.
	Why     string     `json:"why,omitempty"`
	OnError string     `json:"on_error,omitempty"`
	Pos     sqlerr.Pos `json:"pos,omitempty"`
}

// DeadLetterSchema is what the Errors and Late ports carry.
var DeadLetterSchema = types.Schema{
	{Name: "table_name", Type: types.TText},
	{Name: "error_code", Type: types.TText},
	{Name: "error", Type: types.TText},
	{Name: "field", Type: types.TText},
	{Name: "subject", Type: types.TText},
	{Name: "split", Type: types.TText},
	{Name: "position", Type: types.TText}, // stream sequence, file offset
	{Name: "payload", Type: types.TBytes},
}

// DeadLetterDocs says what each column of DeadLetterSchema holds.
var DeadLetterDocs = [...]string{
	"the table that was read or written; tables whose rows meet in a query, with commas",
	"the code of the error (docs/errors.md), or \"late\"",
	"the message",
	"the field or column that is to blame, if one is",
	"the subject or file of the row",
	"the split of the row",
	"the place in the split: sequence, offset",
	"the bytes as they came; once the row had been decoded, what the query had read and computed of it, as JSON. In a text column bytes outside ASCII are escaped",
}
