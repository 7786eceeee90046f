package interp

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// Base is second 0 of scripts, 2024-01-01T00:00:00Z.
var Base = types.Micros(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))

// Case is a parsed script, for whoever executes it: the interpreter or an operator.
//
//	window columns=(k:text,v:bigint) size=10 [slide=2] [offset=1] [delay=5] [splits=2]
//	       [base=0] aggs=(count:*,sum:v,count-distinct:v,sum:v?f)
//	1:x,5            a row of split 0: seconds, then the columns; - is NULL
//	p1 12:x,1        a row of split 1
//	p0 !3:x,1        a row that a WHERE removes
//	idle p1
//
//	group columns=(k:text,v:bigint) keys=1 aggs=(…)
//	+ x,5
//	- x,5
//
// The keys are the first columns (one unless keys says otherwise); the event time
// of a window script is the last.
type Case struct {
	Schema types.Schema
	Splits int
	Query  Query
	Steps  []Step
	Base   int64
}

// Step is one line of a case: a row, a change, or "idle".
type Step struct {
	Text   string
	Idle   bool
	Split  int
	Row    Row
	Change Change
}

// ParseCase reads a directive "window" or "group".
func ParseCase(d *datadriven.TestData) (*Case, error) {
	c := &Case{Splits: 1, Base: Base}
	q := &c.Query
	var slide int64
	keys := 1
	for _, a := range d.CmdArgs {
		var err error
		switch a.Key {
		case "columns":
			err = c.columns(a.Vals)
		case "size":
			q.Window.Size, err = seconds(a.Vals[0])
		case "slide":
			slide, err = seconds(a.Vals[0])
		case "offset":
			q.Window.Offset, err = seconds(a.Vals[0])
		case "delay":
			q.Delay, err = seconds(a.Vals[0])
		case "base":
			c.Base, err = seconds(a.Vals[0])
		case "splits":
			c.Splits, err = strconv.Atoi(a.Vals[0])
		case "keys":
			keys, err = strconv.Atoi(a.Vals[0])
		case "aggs":
			for _, v := range a.Vals {
				var call expr.AggCall
				if call, err = c.agg(v); err != nil {
					break
				}
				q.Aggs = append(q.Aggs, call)
			}
		default:
			err = fmt.Errorf("unknown argument %q", a.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range keys {
		q.Keys = append(q.Keys, i)
	}
	if d.Cmd == "window" {
		t := types.TTimestamp(3)
		q.Time = len(c.Schema)
		c.Schema = append(c.Schema, types.Column{Name: "ts", Type: t})
		q.Window.Kind, q.Window.Slide = "hop", slide
		if slide == 0 {
			q.Window.Kind, q.Window.Slide = "tumble", q.Window.Size
		}
		q.Window.Tick, q.Window.TimeType = t.Tick(), t
	}
	for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
		s, err := c.step(d.Cmd == "window", strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		c.Steps = append(c.Steps, s)
	}
	return c, nil
}

func (c *Case) columns(specs []string) error {
	for _, s := range specs {
		name, typ, _ := strings.Cut(s, ":")
		t, ok := map[string]types.Type{"text": types.TText, "smallint": types.TSmallInt, "int": types.TInt,
			"bigint": types.TBigInt, "double": types.TDouble, "bool": types.TBool, "decimal": types.TDecimal(38, 3)}[typ]
		if !ok {
			return fmt.Errorf("unknown type %q", typ)
		}
		c.Schema = append(c.Schema, types.Column{Name: name, Type: t})
	}
	return nil
}

func (c *Case) agg(spec string) (expr.AggCall, error) {
	call := expr.AggCall{Filter: -1}
	spec, filter, filtered := strings.Cut(spec, "?")
	if filtered {
		call.Filter = c.Schema.Index(filter)
	}
	fn, arg, _ := strings.Cut(spec, ":")
	call.Fn, call.Distinct = strings.TrimSuffix(fn, "-distinct"), strings.HasSuffix(fn, "-distinct")
	var args []types.Type
	if arg != "*" {
		i := c.Schema.Index(arg)
		if i < 0 {
			return call, fmt.Errorf("no column %q", arg)
		}
		call.Args, args = []int{i}, []types.Type{c.Schema[i].Type}
	}
	f, ok := agg.Find(call.Fn)
	if !ok {
		return call, fmt.Errorf("no aggregate %q", call.Fn)
	}
	if _, call.Type, ok = f.Resolve(args); !ok {
		return call, fmt.Errorf("%q does not take these arguments", call.Fn)
	}
	return call, nil
}

func (c *Case) step(window bool, line string) (Step, error) {
	s := Step{Text: line}
	if rest, ok := strings.CutPrefix(line, "idle p"); ok {
		var err error
		s.Idle = true
		s.Split, err = strconv.Atoi(rest)
		return s, err
	}
	if !window {
		s.Change.Op = vec.Insert
		if line[0] == '-' {
			s.Change.Op = vec.Delete
		}
		var err error
		s.Change.Values, err = c.values(strings.TrimSpace(line[1:]))
		return s, err
	}
	if line[0] == 'p' {
		p, rest, _ := strings.Cut(line[1:], " ")
		var err error
		if s.Split, err = strconv.Atoi(p); err != nil {
			return s, err
		}
		line = rest
	}
	line, s.Row.Filtered = strings.CutPrefix(line, "!")
	ts, rest, _ := strings.Cut(line, ":")
	values, err := c.values(rest)
	if err != nil {
		return s, err
	}
	t := types.Null(types.TTimestamp(3))
	if ts != "-" {
		micros, err := seconds(ts)
		if err != nil {
			return s, err
		}
		t = types.IntValue(t.Type, c.Base+micros)
	}
	s.Row.Split, s.Row.Values = s.Split, append(values, t)
	return s, nil
}

func (c *Case) values(list string) ([]types.Value, error) {
	var out []types.Value
	for i, f := range strings.Split(list, ",") {
		t := c.Schema[i].Type
		v := types.Value{Type: t}
		var err error
		switch {
		case f == "-":
			v = types.Null(t)
		case t.Phys() == types.PBytes:
			v.S = strings.Trim(f, "'")
		case t.Phys() == types.PBool:
			v = types.BoolValue(f == "t")
		case t.Phys() == types.PFloat64:
			v.F, err = strconv.ParseFloat(f, 64)
		case t.Phys() == types.PInt128:
			r, ok := new(big.Rat).SetString(f)
			if !ok {
				return nil, fmt.Errorf("%q is no number", f)
			}
			v = fromRat(t, r)
		default:
			v.I, err = strconv.ParseInt(f, 10, 64)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// seconds reads a decimal number of seconds as microseconds.
func seconds(s string) (int64, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%q is no number of seconds", s)
	}
	return roundRat(r.Mul(r, big.NewRat(1e6, 1))).Int64(), nil
}

// Format prints a result as scripts expect it: "[0,10) x 2".
func (c *Case) Format(r Result) string {
	var b strings.Builder
	if c.Query.Window.Size > 0 {
		fmt.Fprintf(&b, "[%s,%s) ", c.second(r.Start), c.second(r.End))
	}
	for i, v := range append(append([]types.Value{}, r.Keys...), r.Aggs...) {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(FormatValue(v))
	}
	return b.String()
}

func (c *Case) second(t int64) string {
	f := new(big.Rat).SetFrac64(t-c.Base, 1e6)
	if f.IsInt() {
		return f.RatString()
	}
	return strings.TrimRight(f.FloatString(6), "0")
}

// FormatValue prints a value as scripts write it.
func FormatValue(v types.Value) string {
	switch {
	case v.Null:
		return "-"
	case v.Type.Phys() == types.PBytes && v.S == "":
		return "''"
	case v.Type.Phys() == types.PBytes:
		return v.S
	case v.Type.Phys() == types.PBool:
		return string("ft"[v.I])
	case v.Type.Phys() == types.PFloat64:
		return strconv.FormatFloat(v.F, 'g', -1, 64)
	case v.Type.Phys() == types.PInt128:
		return string(v.Dec.AppendDecimal(nil, int(v.Type.Scale)))
	}
	return strconv.FormatInt(v.I, 10)
}

// Format prints the counts, zeros left out.
func (c Counts) Format() string {
	s := fmt.Sprintf("late=%d", c.Late)
	if c.PartlyLate > 0 {
		s += fmt.Sprintf(" partly-late=%d", c.PartlyLate)
	}
	if c.NullTime > 0 {
		s += fmt.Sprintf(" null-time=%d", c.NullTime)
	}
	return s
}
