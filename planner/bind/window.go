package bind

import (
	"math"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/parser/tree"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// windowTable binds TUMBLE or HOP in FROM and returns the input's name too.
func (b *Binder) windowTable(t *tree.WindowTable, with *cte) (logical.Node, string, error) {
	fn, err := windowFunc(t.Kind, t.Pos)
	if err != nil {
		return nil, "", err
	}
	if len(t.PartitionBy) > 0 {
		return nil, "", sqlerr.NotSupported(t.PartitionBy[0].Extent().Pos, "PARTITION BY in "+fn)
	}
	in, sc, err := b.tableExpr(t.Input, with)
	if err != nil {
		return nil, "", err
	}
	win, col, err := b.window(fn, in, sc, t.Time, t.Args, t.Pos)
	if err != nil {
		return nil, "", err
	}
	name := ""
	if len(sc.rels) == 1 {
		name = sc.rels[0].name
	}
	return &logical.Assign{Input: in, Window: win, Time: col, Pos: t.Pos}, name, nil
}

func windowFunc(k tree.WindowKind, pos sqlerr.Pos) (string, error) {
	switch k {
	case tree.Tumble:
		return "TUMBLE", nil
	case tree.Hop:
		return "HOP", nil
	case tree.Cumulate:
		return "", sqlerr.NotSupported(pos, "CUMULATE")
	}
	return "", sqlerr.NotSupported(pos, "SESSION")
}

// window binds the time column and the lengths of TUMBLE or HOP.
func (b *Binder) window(fn string, in logical.Node, sc *scope, timeArg tree.Expr, args []tree.Expr, pos sqlerr.Pos) (plan.Window, int, error) {
	var win plan.Window
	col, err := b.windowTime(fn, in, sc, timeArg)
	if err != nil {
		return win, 0, err
	}
	want := []string{"size"}
	usage := "TUMBLE takes the time column, a size and, if wanted, an offset."
	if fn == "HOP" {
		want = []string{"slide", "size"}
		usage = "HOP takes the time column, a slide, a size and, if wanted, an offset."
	}
	if len(args) < len(want) || len(args) > len(want)+1 {
		return win, 0, sqlerr.New(sqlerr.CodeUndefinedFunction, pos, "wrong number of arguments of %s", fn).WithHint("%s", usage)
	}
	win.TimeType = in.Columns()[col].Type
	win.Tick = win.TimeType.Tick()
	lengths := make([]int64, len(want))
	for i, name := range want {
		if lengths[i], err = b.length(fn, name, win.TimeType, args[i]); err != nil {
			return win, 0, err
		}
		if lengths[i] <= 0 {
			return win, 0, sqlerr.New(sqlerr.CodeInvalidParameter, args[i].Extent().Pos, "the %s of %s must be greater than zero", name, fn)
		}
	}
	win.Kind, win.Slide, win.Size = "tumble", lengths[0], lengths[0]
	if fn == "HOP" {
		win.Kind, win.Size = "hop", lengths[1]
		if win.Size/win.Slide > maxWindows {
			return win, 0, sqlerr.New(sqlerr.CodeTooComplex, args[0].Extent().Pos, "every row would belong to %d windows of HOP, and the limit is %d", win.Size/win.Slide, maxWindows).
				WithHint("Use a longer slide.")
		}
	}
	if len(args) > len(want) {
		off, err := b.length(fn, "offset", win.TimeType, args[len(want)])
		if err != nil {
			return win, 0, err
		}
		// Offsets that differ by slides give the same windows.
		win.Offset = ((off % win.Slide) + win.Slide) % win.Slide
	}
	return win, col, nil
}

// maxWindows is the most windows that a row may belong to: each costs work and state for
// every key.
const maxWindows = 10_000

// windowTime binds the time column of a window: it must be event time or
// processing time.
func (b *Binder) windowTime(fn string, in logical.Node, sc *scope, arg tree.Expr) (int, error) {
	ref, ok := arg.(*tree.ColumnRef)
	if !ok {
		return 0, sqlerr.New(sqlerr.CodeWindowing, arg.Extent().Pos, "the time argument of %s must be a column", fn)
	}
	e, err := sc.column(ref)
	if err != nil {
		return 0, err
	}
	c := in.Columns()[e.Col]
	if !c.Type.IsTimestamp() {
		return 0, sqlerr.New(sqlerr.CodeDatatypeMismatch, ref.Pos, "the time column %q of %s must be TIMESTAMP or TIMESTAMP WITH TIME ZONE, not %s", c.Name, fn, c.Type)
	}
	if c.Time || c.Proc {
		return e.Col, nil
	}
	err2 := sqlerr.New(sqlerr.CodeWindowing, ref.Pos, "column %q is not event time", c.Name)
	for _, other := range in.Columns() {
		if other.Time {
			return 0, err2.WithHint("The event time here is %q.", other.Name)
		}
		if other.Proc {
			return 0, err2.WithHint("The processing time here is %q.", other.Name)
		}
	}
	return 0, err2.WithHint("Declare WATERMARK FOR %s AS … on the table; a computed or aggregated time is not event time.", tree.QuoteIdent(c.Name))
}

// length reads a constant interval as microseconds. Times of type t can be the bounds of
// windows of that length.
func (b *Binder) length(fn, name string, t types.Type, arg tree.Expr) (int64, error) {
	iv, ok, err := b.constantInterval(arg)
	if err != nil {
		return 0, err
	}
	pos := arg.Extent().Pos
	if !ok {
		return 0, sqlerr.New(sqlerr.CodeInvalidParameter, pos, "the %s of %s must be a constant interval", name, fn).
			WithHint("Write it as INTERVAL '10' SECOND.")
	}
	if iv.Months != 0 {
		return 0, sqlerr.New(sqlerr.CodeInvalidParameter, pos, "the %s of %s must not have months or years", name, fn).
			WithHint("A month has no fixed length; use days.")
	}
	const day = 86_400_000_000
	d := int64(iv.Days)
	us := d*day + iv.Micros
	if d > math.MaxInt64/day/2 || d < -math.MaxInt64/day/2 || iv.Micros > math.MaxInt64/2 || iv.Micros < -math.MaxInt64/2 {
		return 0, sqlerr.New(sqlerr.CodeIntervalOverflow, pos, "the %s of %s is too long", name, fn)
	}
	if us%t.Tick() != 0 {
		return 0, sqlerr.New(sqlerr.CodeInvalidParameter, pos, "the %s of %s has more digits of a second than its time column, which is %s", name, fn, t).
			WithHint("The bounds of a window have the type of its time column.")
	}
	return us, nil
}

// constantInterval binds arg and reports the interval that it is, if it is one.
func (b *Binder) constantInterval(arg tree.Expr) (types.IntervalValue, bool, error) {
	switch arg := arg.(type) {
	case *tree.IntervalLit:
		return arg.Value, true, nil
	case *tree.UnaryExpr:
		iv, ok, err := b.constantInterval(arg.X)
		if ok && arg.Op == tree.OpNeg {
			iv = types.IntervalValue{Months: -iv.Months, Days: -iv.Days, Micros: -iv.Micros}
		}
		return iv, ok && arg.Op != tree.OpNot, err
	}
	x := &exprBinder{b: b, sc: &scope{}, clause: "the arguments of a window"}
	e, err := x.bind(arg)
	if err != nil {
		if sqlerr.CodeOf(err) == sqlerr.CodeUndefinedColumn {
			return types.IntervalValue{}, false, nil
		}
		return types.IntervalValue{}, false, err
	}
	if e.Kind == expr.Literal && e.Type.Kind == types.Unknown && !e.Val.Null {
		if e, err = coerce(e, types.TInterval); err != nil {
			return types.IntervalValue{}, false, err
		}
	}
	if e.Kind != expr.Literal || e.Type.Kind != types.Interval || e.Val.Null {
		return types.IntervalValue{}, false, nil
	}
	return e.Val.Iv, true, nil
}
