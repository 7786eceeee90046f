package sqlerr

// Codes. Five-character codes are PostgreSQL's SQLSTATE for the same condition;
// those that start with "SS" are streamsql's own.
const (
	CodeSyntax            = "42601"
	CodeUndefinedColumn   = "42703"
	CodeUndefinedTable    = "42P01"
	CodeUndefinedFunction = "42883"
	CodeUndefinedObject   = "42704"
	CodeDuplicateColumn   = "42701"
	CodeDuplicateTable    = "42P07"
	CodeAmbiguousColumn   = "42702"
	CodeGrouping          = "42803"
	CodeWindowing         = "42P20"
	CodeDatatypeMismatch  = "42804"
	CodeCannotCoerce      = "42846"
	CodeReservedName      = "42939"
	CodeInvalidName       = "42602"
	CodeInvalidColumnRef  = "42P10"
	CodeDependent         = "2BP01"
	CodeNotSupported      = "0A000"
	CodeTooComplex        = "54001"
	CodeInvalidParameter  = "22023"
	CodeNumericOutOfRange = "22003"
	CodeDivisionByZero    = "22012"
	CodeInvalidText       = "22P02"
	CodeDatetimeFormat    = "22007"
	CodeDatetimeOverflow  = "22008"
	CodeIntervalOverflow  = "22015"
	CodeStringTooLong     = "22001"
	CodeInvalidEncoding   = "22021"
	CodeNotNull           = "23502"
	CodeUnique            = "23505"
	CodeInvalidRegexp     = "2201B"
	CodeInternal          = "XX000"
	CodeCancelled         = "57014"
	CodeConnection        = "08006"
	CodeAuth              = "28P01"

	// CodeOption: an unknown, missing or malformed WITH option or setting.
	CodeOption = "SS001"
	// CodeDecode: a row whose bytes or text are not in the declared format.
	CodeDecode = "SS002"
	// CodeSchema: the declared table does not fit the real one.
	CodeSchema = "SS003"
	// CodeGap: rows that a restored position needs are gone from the source.
	CodeGap = "SS004"
	// CodeFenced: another attempt of the job, or another job, owns the target.
	CodeFenced = "SS005"
	// CodeCheckpoint: a checkpoint that is missing or damaged.
	CodeCheckpoint = "SS006"
	// CodeStateMismatch: the job's file changed over existing state.
	CodeStateMismatch = "SS007"
	// CodeSinkChangelog: a sink cannot take the changes that the query makes.
	CodeSinkChangelog = "SS008"
	// CodeVariable: an undefined ${NAME}.
	CodeVariable = "SS009"
	// CodeNullTime: a row without event time.
	CodeNullTime = "SS010"
	// CodeNotReady: the target exists but cannot take rows now (read-only, starting).
	CodeNotReady = "SS011"
	// CodeVersion: a checkpoint that another version of the program made; it is whole, and nothing takes its place.
	CodeVersion = "SS012"
)
