package expr

import (
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Two calls stand for the moment at which a row entered the job: "now" with all its
// digits and "proctime", the same moment in milliseconds. The planner puts a column of
// the runtime's in the place of each; no kernel reads a clock. Every other function of
// the moment is an expression over "now", so that all of them agree for a row.
const (
	nowFn      = "now"
	proctimeFn = "proctime"
)

// IsClock reports that e is one of the two calls that stand for the moment of the row.
func (e *Expr) IsClock() bool {
	return e.Kind == Call && len(e.Args) == 0 && (e.Fn == nowFn || e.Fn == proctimeFn)
}

// IsProctime reports that e is the moment of the row as a time attribute.
func (e *Expr) IsProctime() bool { return e.IsClock() && e.Fn == proctimeFn }

// Clock finds the first call in e that stands for the moment of the row, nil for none.
func (e *Expr) Clock() *Expr {
	var found *Expr
	e.Walk(func(x *Expr) bool {
		if found == nil && x.IsClock() {
			found = x
		}
		return found == nil
	})
	return found
}

// WithClock returns e with what by gives in the place of each call that stands for the
// moment of the row.
func (e *Expr) WithClock(by func(call *Expr) *Expr) *Expr {
	if e.IsClock() {
		return by(e)
	}
	if len(e.Args) == 0 {
		return e
	}
	c := *e
	c.Args = make([]*Expr, len(e.Args))
	for i, a := range e.Args {
		c.Args[i] = a.WithClock(by)
	}
	return &c
}

func clockFuncs() []Func {
	kernel := func([]Arg, types.Type) impl {
		return impl{run: func(k *kctx, _ []*vec.Vector, out *vec.Vector) {
			for i := range k.n {
				k.fail(out, i, sqlerr.CodeInternal, "the moment of the row is not known here")
			}
		}}
	}
	return []Func{
		{
			Name: nowFn, Volatility: Volatile,
			Doc:     "The moment at which the row entered the job: read once, where the row is read, and the same in every call for that row.",
			Differs: "Flink gives TIMESTAMP_LTZ(3), and another moment at each operator.",
			Example: "NOW()", ExampleResult: "2024-02-29 12:34:56.789012+00",
			PG:   "TIMESTAMPTZ '2024-02-29 12:34:56.789012+00'",
			Sigs: []Sig{{Ret: types.TTimestampTZ(6)}}, kernel: kernel,
		},
		{
			Name: proctimeFn, Volatility: Volatile,
			Doc:     "NOW() in milliseconds, as a processing-time attribute: TUMBLE and HOP over such a column fire by the clock.",
			Example: "PROCTIME()", ExampleResult: "2024-02-29 12:34:56.789+00",
			PG:   "TIMESTAMPTZ '2024-02-29 12:34:56.789+00'",
			Sigs: []Sig{{Ret: types.TTimestampTZ(3)}}, kernel: kernel,
		},
		moment("current_timestamp", "NOW(), with as many digits of a second as the argument says.", types.TTimestampTZ, true,
			"CURRENT_TIMESTAMP(3)", "2024-02-29 12:34:56.789+00", "TIMESTAMPTZ '2024-02-29 12:34:56.789+00'"),
		moment("localtimestamp", "NOW() as a TIMESTAMP: the time in UTC.", types.TTimestamp, true,
			"LOCALTIMESTAMP", "2024-02-29 12:34:56.789012", "TIMESTAMPTZ '2024-02-29 12:34:56.789012+00' AT TIME ZONE 'UTC'"),
		moment("localtime", "The time of day of NOW() in UTC.", timeOfDay, true,
			"LOCALTIME(0)", "12:34:56", "TIME '12:34:56'"),
		moment("current_time", "LOCALTIME: there is no TIME WITH TIME ZONE.", timeOfDay, true,
			"CURRENT_TIME", "12:34:56.789012", "(TIMESTAMPTZ '2024-02-29 12:34:56.789012+00' AT TIME ZONE 'UTC')::TIME"),
		moment("current_date", "The day of NOW() in UTC.", func(int) types.Type { return types.TDate }, false,
			"CURRENT_DATE", "2024-02-29", "(TIMESTAMPTZ '2024-02-29 12:34:56.789012+00')::DATE"),
		{
			Name: "unix_timestamp", Forms: []string{"unix_timestamp() → bigint"}, Volatility: Volatile,
			Doc:     "The whole seconds since 1970 of NOW().",
			Example: "UNIX_TIMESTAMP()", ExampleResult: "1709210096",
			PG: "FLOOR(EXTRACT(epoch FROM TIMESTAMPTZ '2024-02-29 12:34:56.789012+00'))::BIGINT",
			lower: func(args []*Expr) (*Expr, error) {
				if len(args) > 0 {
					return nil, sqlerr.NotSupported(0, "UNIX_TIMESTAMP of an argument").
						WithHint("Use EXTRACT(EPOCH FROM …).")
				}
				epoch, err := ResolveCall("extract", []*Expr{LitAt(types.TextValue("epoch"), 0), now()}, 0)
				if err != nil {
					return nil, err
				}
				whole, err := ResolveCall("floor", []*Expr{epoch}, 0)
				if err != nil {
					return nil, err
				}
				return ExplicitCast(whole, types.TBigInt, false)
			},
		},
	}
}

func timeOfDay(precision int) types.Type {
	return types.Type{Kind: types.Time, Precision: uint8(precision)}
}

// placeClock gives new calls of the clock in e their place.
func placeClock(e *Expr, pos sqlerr.Pos) {
	e.Walk(func(x *Expr) bool {
		if x.IsClock() && x.Pos == 0 {
			x.Pos = pos
		}
		return true
	})
}

func now() *Expr { return &Expr{Kind: Call, Type: types.TTimestampTZ(6), Fn: nowFn} }

// moment is a function that gives NOW() as another type; digits says that it takes the
// digits of a second.
func moment(name, doc string, as func(precision int) types.Type, digits bool, example, result, pg string) Func {
	word := kindWord(as(6).Kind)
	forms := []string{name + " → " + word}
	if digits {
		forms = append(forms, name+"(int) → "+word)
	}
	return Func{
		Name: name, Forms: forms, Doc: doc, Volatility: Volatile, Example: example, ExampleResult: result, PG: pg,
		lower: func(args []*Expr) (*Expr, error) {
			p := 6
			switch {
			case len(args) == 1 && digits && args[0].Kind == Literal && args[0].Type.IsInteger() && args[0].Val.I >= 0 && args[0].Val.I <= 6:
				p = int(args[0].Val.I)
			case len(args) > 0:
				return nil, errNoSignature
			}
			return ExplicitCast(now(), as(p), false)
		},
	}
}
