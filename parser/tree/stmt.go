package tree

import "github.com/streamsql/streamsql/internal/sqlerr"

// Statement is one statement of a file.
type Statement interface {
	Extent() Span
	statement()
}

// TableKind says what a CREATE TABLE form allows.
type TableKind uint8

const (
	// KindTable is CREATE TABLE: read and written, as its connector can.
	KindTable TableKind = iota
	// KindSource is CREATE SOURCE, KindStream CREATE STREAM: read only.
	KindSource
	KindStream
	// KindSink is CREATE SINK with columns: written only.
	KindSink
)

// CreateTable declares a table on an external system.
type CreateTable struct {
	Span
	Kind        TableKind
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        QualifiedName
	Columns     []ColumnDef
	// Watermark and PrimaryKey are nil when not declared. An inline PRIMARY KEY
	// arrives in PrimaryKey too.
	Watermark  *WatermarkDef
	PrimaryKey *PrimaryKeyDef
	Options    []Option
}

// ColumnDef is one column. Exactly one of Type and Computed is set.
type ColumnDef struct {
	Span
	Name     Name
	Type     *TypeName
	NotNull  bool
	Metadata *MetadataDef
	// Computed is the expression of `name AS expression`.
	Computed Expr
}

// MetadataDef is METADATA [FROM 'key'] [VIRTUAL]. Key is the column's name when
// FROM was not written.
type MetadataDef struct {
	Span
	Key     string
	KeyPos  sqlerr.Pos
	Virtual bool
}

// WatermarkDef is WATERMARK FOR column AS expression.
type WatermarkDef struct {
	Span
	Column Name
	Expr   Expr
}

// PrimaryKeyDef is PRIMARY KEY (columns) [NOT ENFORCED].
type PrimaryKeyDef struct {
	Span
	Columns     []Name
	NotEnforced bool
}

// Option is one 'key' = 'value' of a WITH clause. ${NAME} inside Value is
// unresolved (a secret); everywhere else it was replaced before parsing.
type Option struct {
	Key      string
	KeyPos   sqlerr.Pos
	Value    string
	ValuePos sqlerr.Pos
}

// CreateView gives a query a name; Materialized keeps its rows.
type CreateView struct {
	Span
	OrReplace    bool
	Temporary    bool
	Materialized bool
	IfNotExists  bool
	Name         QualifiedName
	Columns      []Name
	Query        *Query
}

// CreateSink is CREATE SINK … AS query: a sink table and the query that fills it.
// Columns may be empty; the query then gives them.
type CreateSink struct {
	Span
	OrReplace   bool
	IfNotExists bool
	Name        QualifiedName
	Columns     []ColumnDef
	PrimaryKey  *PrimaryKeyDef
	Options     []Option
	Query       *Query
}

// Insert is INSERT INTO table [(columns)] query; VALUES rows are a query whose body
// is *Values.
type Insert struct {
	Span
	Table   QualifiedName
	Columns []Name
	Query   *Query
}

// QueryStmt is a query as a statement.
type QueryStmt struct {
	Span
	Query *Query
}

// ExplainFormat is the FORMAT of EXPLAIN.
type ExplainFormat uint8

const (
	ExplainText ExplainFormat = iota
	ExplainJSON
	ExplainDot
	ExplainMermaid
)

// Explain shows the plan of a *QueryStmt, *Insert or *CreateSink.
type Explain struct {
	Span
	Format  ExplainFormat
	Analyze bool
	Stmt    Statement
}

// ExplainUpgrade is EXPLAIN UPGRADE file FROM SAVEPOINT path.
type ExplainUpgrade struct {
	Span
	File      StringArg
	Savepoint StringArg
}

// StringArg is a path or name given as a string or a bare (dotted) word.
type StringArg struct {
	Span
	Value string
}

// Describe is DESCRIBE table.
type Describe struct {
	Span
	Name QualifiedName
}

// ShowKind is what SHOW lists.
type ShowKind uint8

const (
	ShowTables ShowKind = iota
	ShowViews
	ShowJobs
	ShowFunctions
	ShowConnectors
	ShowSavepoints
	ShowCheckpoints
	ShowSettings
	ShowCreateTable
)

// Show is SHOW …. Job is set by CHECKPOINTS FOR job, Table by CREATE TABLE t (or VIEW
// or SINK).
type Show struct {
	Span
	Kind  ShowKind
	Job   *StringArg
	Table *QualifiedName
}

// Set is SET key = value; the value is text whatever its spelling.
type Set struct {
	Span
	Key      string
	KeyPos   sqlerr.Pos
	Value    string
	ValuePos sqlerr.Pos
}

// Reset is RESET key, or RESET ALL with an empty key.
type Reset struct {
	Span
	Key    string
	KeyPos sqlerr.Pos
}

// ObjectKind is what DROP drops.
type ObjectKind uint8

const (
	ObjectTable ObjectKind = iota
	ObjectSource
	ObjectStream
	ObjectView
	ObjectMaterializedView
	ObjectSink
)

// Drop is DROP kind [IF EXISTS] name.
type Drop struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Name     QualifiedName
}

// DropSavepoint is DROP SAVEPOINT 'path'.
type DropSavepoint struct {
	Span
	Path StringArg
}

// JobAction is what a JobCommand does.
type JobAction uint8

const (
	StopJob JobAction = iota
	CancelJob
	PauseJob
	ResumeJob
)

// JobCommand is STOP, CANCEL, PAUSE or RESUME JOB. WithSavepoint and Path belong to
// STOP; Path is nil when not given.
type JobCommand struct {
	Span
	Action        JobAction
	Job           StringArg
	WithSavepoint bool
	Path          *StringArg
}

// SnapshotJob is SNAPSHOT JOB j [TO 'path'] or CREATE SAVEPOINT ['path'] FOR JOB j.
type SnapshotJob struct {
	Span
	Job  StringArg
	Path *StringArg
}

// RestoreJob is RESTORE JOB j FROM 'path' [ALLOW NON RESTORED STATE].
type RestoreJob struct {
	Span
	Job              StringArg
	Path             StringArg
	AllowNonRestored bool
}

// BeginStatementSet is BEGIN STATEMENT SET, EndStatementSet its END. They group the
// INSERTs between them and change nothing else.
type BeginStatementSet struct{ Span }

// EndStatementSet closes BeginStatementSet.
type EndStatementSet struct{ Span }

func (*CreateTable) statement()       {}
func (*CreateView) statement()        {}
func (*CreateSink) statement()        {}
func (*Insert) statement()            {}
func (*QueryStmt) statement()         {}
func (*Explain) statement()           {}
func (*ExplainUpgrade) statement()    {}
func (*Describe) statement()          {}
func (*Show) statement()              {}
func (*Set) statement()               {}
func (*Reset) statement()             {}
func (*Drop) statement()              {}
func (*DropSavepoint) statement()     {}
func (*JobCommand) statement()        {}
func (*SnapshotJob) statement()       {}
func (*RestoreJob) statement()        {}
func (*BeginStatementSet) statement() {}
func (*EndStatementSet) statement()   {}
