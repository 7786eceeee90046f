package generator

import (
	"math/bits"
	"strconv"

	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// maxLength bounds the length of a random text.
const maxLength = 1 << 20

// columnOptions are the fields.<column> options of one column.
type columnOptions struct {
	*optionReader
	field string
	col   types.Column
}

func (o *columnOptions) get(name string) string { return o.text(o.key(name)) }

func (o *columnOptions) key(name string) string { return fieldPrefix + o.field + "." + name }

// value reads an option as a value of the column's type.
func (o *columnOptions) value(name, def string) types.Value {
	s := o.get(name)
	if s == "" {
		s = def
	}
	x, err := vec.ParseText(o.col.Type, []byte(s))
	if err != nil {
		o.fail(sqlerr.New(sqlerr.CodeOption, 0, "option %q is %q: %s", o.key(name), s, err.Error()))
	}
	return x
}

func (o *columnOptions) number(name string, def float64) float64 {
	s := o.get(name)
	if s == "" {
		return def
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		o.fail(badOption(o.key(name), s, "It is a number."))
	}
	return x
}

// freeColumn gives the values of one column of kind columns. The sequence of event n
// is seeded by the column's name, so that it does not depend on the other columns.
func freeColumn(s settings, field string, col types.Column, r *optionReader) (fill, error) {
	o := columnOptions{optionReader: r, field: field, col: col}
	stream := uint64(0xcbf29ce484222325) // FNV-1a of the name
	for i := range len(field) {
		stream = (stream ^ uint64(field[i])) * 0x100000001b3
	}
	seed := uint64(s.seed)
	draw := func(n int64) nexmark.Random { return nexmark.NewRandom(seed, stream, n) }
	one, err := o.values(s, draw)
	if err != nil {
		return nil, err
	}
	rate := o.number("null-rate", 0)
	if o.err == nil && (rate < 0 || rate > 1) {
		o.fail(badOption(o.key("null-rate"), o.get("null-rate"), "It is a number from 0 to 1."))
	}
	if o.err == nil && rate > 0 && col.NotNull {
		o.fail(sqlerr.New(sqlerr.CodeOption, 0, "option %q makes NULLs of column %q, which is NOT NULL", o.key("null-rate"), field))
	}
	if o.err != nil {
		return nil, o.err
	}
	if rate == 0 {
		return func(v *vec.Vector, events []int64) {
			for _, n := range events {
				one(v, n)
			}
		}, nil
	}
	return func(v *vec.Vector, events []int64) {
		for _, n := range events {
			r := nexmark.NewRandom(seed, ^stream, n)
			if float64(r.Next()>>11)/(1<<53) < rate {
				v.AppendNull()
			} else {
				one(v, n)
			}
		}
	}, nil
}

// values gives the function that appends the value of event n.
func (o *columnOptions) values(s settings, draw func(n int64) nexmark.Random) (func(v *vec.Vector, n int64), error) {
	kind := o.get("kind")
	if kind != "" && kind != "random" && kind != "sequence" {
		return nil, badOption(o.key("kind"), kind, "It can be random or sequence.")
	}
	t := o.col.Type
	if kind == "sequence" {
		return o.sequence(s)
	}
	switch {
	case t.Kind == types.Bool:
		return func(v *vec.Vector, n int64) { r := draw(n); v.AppendBool(r.Below(2) == 1) }, nil
	case t.Phys() == types.PInt64:
		lo, hi := o.bounds(t)
		tick := int64(1)
		if t.IsTimestamp() || t.Kind == types.Time {
			tick = t.Tick()
		}
		if o.err == nil && lo > hi {
			return nil, badOption(o.key("min"), o.get("min"), "It is at most max.")
		}
		return func(v *vec.Vector, n int64) { r := draw(n); v.AppendInt64(vec.TruncateTick(between(&r, lo, hi), tick)) }, nil
	case t.IsFloat():
		lo, hi := o.number("min", 0), o.number("max", 1)
		return func(v *vec.Vector, n int64) {
			r := draw(n)
			f := lo + float64(float64(r.Next()>>11)/(1<<53)*(hi-lo))
			if t.Kind == types.Real {
				f = float64(float32(f))
			}
			v.AppendFloat64(f)
		}, nil
	case t.Kind == types.Decimal:
		lo, okLo := o.value("min", "0").Dec.Int64()
		hi, okHi := o.value("max", "1").Dec.Int64()
		if o.err == nil && (!okLo || !okHi || lo > hi) {
			return nil, sqlerr.New(sqlerr.CodeOption, 0, "options %q and %q do not span a range of at most 18 digits", o.key("min"), o.key("max"))
		}
		return func(v *vec.Vector, n int64) { r := draw(n); v.AppendInt128(types.I128(between(&r, lo, hi))) }, nil
	case t.Kind == types.Text:
		most := int64(maxLength)
		if t.Length > 0 {
			most = int64(t.Length)
		}
		length := o.integer(o.key("length"), min(16, most), 0, most)
		return func(v *vec.Vector, n int64) {
			r := draw(n)
			for range length {
				v.Data = append(v.Data, byte('a'+r.Below(26)))
			}
			v.EndBytes()
		}, nil
	}
	return nil, sqlerr.NotSupported(0, "random "+t.String()+" in column \""+o.field+"\"")
}

func intRange(t types.Type) (lo, hi int64) {
	switch t.Kind {
	case types.SmallInt:
		return -1 << 15, 1<<15 - 1
	case types.Int:
		return -1 << 31, 1<<31 - 1
	}
	return -1 << 63, 1<<63 - 1
}

// bounds gives min and max of a column of integers or times.
func (o *columnOptions) bounds(t types.Type) (lo, hi int64) {
	def := [2]string{"0", "2147483647"}
	switch t.Kind {
	case types.SmallInt:
		def[1] = "32767"
	case types.Date:
		def = [2]string{"2000-01-01", "2029-12-31"}
	case types.Time:
		def = [2]string{"00:00:00", "23:59:59.999999"}
	case types.Timestamp, types.TimestampTZ:
		def = [2]string{"2000-01-01 00:00:00", "2029-12-31 23:59:59.999999"}
	}
	return o.value("min", def[0]).I, o.value("max", def[1]).I
}

// between draws from lo to hi, both included.
func between(r *nexmark.Random, lo, hi int64) int64 {
	span := uint64(hi-lo) + 1
	if span == 0 {
		return int64(r.Next())
	}
	x, _ := bits.Mul64(r.Next(), span)
	return lo + int64(x)
}

// sequence counts start, start + step, … by the number of the event, going on at min
// after max, which are the ends of the type where they are not given. A time advances by the event rate instead.
func (o *columnOptions) sequence(s settings) (func(v *vec.Vector, n int64), error) {
	t := o.col.Type
	switch {
	case t.IsInteger():
		lo, hi := intRange(t)
		if o.get("min") != "" {
			lo = o.value("min", "").I
		}
		if o.get("max") != "" {
			hi = o.value("max", "").I
		}
		def := "0"
		if lo > 0 {
			def = strconv.FormatInt(lo, 10)
		}
		start, step := o.value("start", def).I, o.value("step", "1").I
		if o.err == nil && (lo > hi || start < lo || start > hi) {
			return nil, badOption(o.key("start"), strconv.FormatInt(start, 10), "It lies between min and max.")
		}
		if o.err == nil && step < 1 {
			return nil, badOption(o.key("step"), o.get("step"), "It is at least 1.")
		}
		span, first := uint64(hi-lo)+1, uint64(start-lo)
		return func(v *vec.Vector, n int64) {
			high, low := bits.Mul64(uint64(n), uint64(step))
			if span == 0 {
				v.AppendInt64(lo + int64(first+low))
				return
			}
			x := bits.Rem64(high, low, span)
			if x >= span-first {
				x -= span
			}
			v.AppendInt64(lo + int64(first+x))
		}, nil
	case t.IsTimestamp():
		start := s.config.Base * 1000
		if o.get("start") != "" {
			start = o.value("start", "").I
		}
		rate, tick := s.config.EventRate, t.Tick()
		return func(v *vec.Vector, n int64) {
			v.AppendInt64(vec.TruncateTick(start+n/rate*1000000+n%rate*1000000/rate, tick))
		}, nil
	case t.Kind == types.Text && t.Length == 0:
		start := o.integer(o.key("start"), 0, -1<<62, 1<<62)
		return func(v *vec.Vector, n int64) {
			v.Data = strconv.AppendInt(v.Data, start+n, 10)
			v.EndBytes()
		}, nil
	}
	return nil, sqlerr.NotSupported(0, "a sequence of "+t.String()+" in column \""+o.field+"\"")
}
