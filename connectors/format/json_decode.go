package format

import (
	"fmt"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// task is what is done with a value that has the expected form; everything else goes
// to jsonDecoder.value.
type task uint8

const (
	taskSkip  task = iota // not wanted
	taskInt               // SMALLINT, INT, BIGINT; TIMESTAMP as a number
	taskText              // TEXT without a length limit
	taskISO               // TIMESTAMP as text
	taskOther             // everything else
)

type jsonColumn struct {
	task   task
	max    int64  // taskInt: the largest number that the fast path takes
	factor int64  // taskInt: what the number counts, in microseconds for a TIMESTAMP
	cut    int64  // taskInt: the step of the column when it is more than factor, else 1
	seen   uint64 // number of the last object with this field
}

// jsonDecoder writes payload bytes straight into columns.
//
// A producer writes its fields mostly in one order and with the same white space, so
// the text from the end of a value to the start of the next, `,"price":`, is known
// before it is read: each such text is a lead, each lead remembers which one came
// after it last time, and a right guess costs two comparisons of eight bytes.
type jsonDecoder struct {
	builder
	jcols []jsonColumn
	unit  int // isoText or the digits of a second
	clock isoClock
	index map[string]int32 // field to column

	leads  []lead
	byText map[string]int32

	object  uint64 // number of the current object
	found   int    // columns found in it
	scratch []byte
	fault   fault
	err     RowError
}

// lead is the text before a value: a brace or comma, the key, the colon and all white
// space between. head and tail are its first 16 bytes under masks.
type lead struct {
	head, headMask uint64
	tail, tailMask uint64
	text           string
	next           int32
	col            int32 // -1: not wanted
	task           task
}

// The first two leads are no texts: the start of an object, and whatever was not
// learnt.
const (
	leadStart    = 0
	leadStranger = 1
)

// maxLeads and maxLead bound what a decoder learns of a stream whose keys are data.
const (
	maxLeads = 512
	maxLead  = 64
)

func newJSONDecoder(cols []Column, unit int) *jsonDecoder {
	d := &jsonDecoder{
		builder: newBuilder(cols), jcols: make([]jsonColumn, len(cols)), unit: unit,
		clock: newISOClock(), index: make(map[string]int32, len(cols)),
		leads: make([]lead, 2, 16), byText: map[string]int32{},
	}
	never := lead{head: ^uint64(0), headMask: ^uint64(0), tail: ^uint64(0), tailMask: ^uint64(0), col: -1}
	d.leads[leadStart], d.leads[leadStranger] = never, never
	for i, c := range cols {
		d.index[c.Field] = int32(i)
		j := &d.jcols[i]
		j.task = taskOther
		switch {
		case c.Type.IsInteger():
			j.task = taskInt
			j.max, j.factor, j.cut = maxInt(c.Type), 1, 1
		case c.Type.Kind == types.Text && c.Type.Length == 0:
			j.task = taskText
		case c.Type.IsTimestamp() && unit == isoText:
			j.task = taskISO
		case c.Type.IsTimestamp():
			j.task = taskInt
			j.factor = int64(pow10u[6-unit])
			j.max, j.cut = maxMicros/j.factor, 1
			if tick := c.Type.Tick(); tick > j.factor {
				j.cut = tick
			}
		}
	}
	return d
}

// maxMicros is a time within the range of TIMESTAMP.
const maxMicros = 9e18

func maxInt(t types.Type) int64 {
	switch t.Kind {
	case types.SmallInt:
		return 1<<15 - 1
	case types.Int:
		return 1<<31 - 1
	}
	return 1<<63 - 1
}

// Decode implements Decoder.
func (d *jsonDecoder) Decode(payloads [][]byte, out *vec.Batch, origin []int32, errs []RowError) ([]int32, []RowError) {
	d.begin(out, len(payloads))
	for p, b := range payloads {
		first := d.row
		if !d.payload(b) {
			d.undo(first)
			d.err.Payload = p
			errs = append(errs, d.err)
			continue
		}
		for range d.row - first {
			origin = append(origin, int32(p))
		}
	}
	d.end()
	return origin, errs
}

// payload decodes all objects of b; on false, err says what is wrong with them.
func (d *jsonDecoder) payload(b []byte) bool {
	i := skipBlank(b, 0)
	if i == len(b) {
		d.broken(i, "the payload is empty")
		return false
	}
	for i < len(b) {
		if b[i] != '{' {
			d.broken(i, "expected an object")
			return false
		}
		if d.row == d.rows {
			d.grow()
		}
		if i = d.decodeObject(b, i); i < 0 {
			return false
		}
		i = skipBlank(b, i)
	}
	return true
}

// broken records a fault of grammar.
func (d *jsonDecoder) broken(at int, msg string) int {
	d.err = RowError{Code: sqlerr.CodeDecode, Msg: fmt.Sprintf("invalid JSON at byte %d: %s", at, msg)}
	return -1
}

// reject records a value that column c cannot hold.
func (d *jsonDecoder) reject(c *column, code, format string, args ...any) int {
	d.err = RowError{Field: c.Field, Code: code, Msg: fmt.Sprintf("field %q: ", c.Field) + fmt.Sprintf(format, args...)}
	return -1
}

// decodeObject decodes the object that starts at b[i] as the next row and gives the
// index after it, or -1.
func (d *jsonDecoder) decodeObject(b []byte, i int) int {
	d.object++
	d.found = 0
	row := d.row
	at := int32(0)
	for {
		l := &d.leads[d.leads[at].next]
		if i+16 <= len(b) && (load64(b[i:])^l.head)&l.headMask|(load64(b[i+8:])^l.tail)&l.tailMask == 0 &&
			(len(l.text) <= 16 || i+len(l.text) <= len(b) && string(b[i+16:i+len(l.text)]) == l.text[16:]) {
			at = d.leads[at].next
			i += len(l.text)
		} else {
			var done bool
			if l, i, done = d.readLead(b, i, &at); i < 0 {
				return -1
			} else if done {
				return d.endObject(i)
			}
		}
		t := l.task
		if t == taskSkip {
			if end := skipPlain(b, i); end > 0 {
				i = end
			} else if i = d.skip(b, i); i < 0 {
				return -1
			}
			continue
		}
		c := &d.cols[l.col]
		j := &d.jcols[l.col]
		if j.seen == d.object {
			if c.phys == types.PBytes {
				c.used = int(c.off[row])
			}
		} else {
			j.seen = d.object
			d.found++
		}
		switch t {
		case taskText:
			if i < len(b) && b[i] == '"' && c.room(len(b)-i+8) {
				k := c.used
				p := i + 1
				data := c.data
				for p+8 <= len(b) {
					x := load64(b[p:])
					store64(data[k:], x)
					if m := special(x); m != 0 {
						n := firstMark(m)
						p += n
						k += n
						break
					}
					p += 8
					k += 8
				}
				if p < len(b) && b[p] == '"' {
					c.used = k
					c.off[row+1] = int32(k)
					if c.valid != nil {
						c.valid.Set(row)
					}
					i = p + 1
					continue
				}
			}
		case taskInt:
			if i+16 <= len(b) {
				x := load64(b[i:])
				v := x ^ '0'*each
				n := firstMark(nonDigits(v))
				end := i + n
				var sum uint64
				if n == 8 {
					y := load64(b[end:])
					w := y ^ '0'*each
					n2 := firstMark(nonDigits(w))
					end += n2
					if n2 < 8 {
						sum = eightDigits(v)
						if n2 > 0 {
							sum = sum*pow10u[n2] + eightDigits(w<<(64-8*uint(n2)))
						}
						n += n2
					} else {
						n = 0
					}
				} else if n > 0 {
					sum = eightDigits(v << (64 - 8*uint(n)))
				}
				if n > 0 && (byte(x) != '0' || n == 1) && (b[end] == ',' || b[end] == '}') && int64(sum) <= j.max {
					n := int64(sum) * j.factor
					if j.cut > 1 {
						n = vec.TruncateTick(n, j.cut)
					}
					c.i64[row] = n
					if c.valid != nil {
						c.valid.Set(row)
					}
					i = end
					continue
				}
			}
		case taskISO:
			if i+32 <= len(b) && b[i] == '"' {
				if us, end := d.clock.quoted(b, i+1); end > 0 {
					if c.tick > 1 {
						us = vec.TruncateTick(us, c.tick)
					}
					c.i64[row] = us
					if c.valid != nil {
						c.valid.Set(row)
					}
					i = end
					continue
				}
			}
		}
		if i = d.value(c, b, i); i < 0 {
			return -1
		}
	}
}

// skipPlain checks a string without escapes and characters beyond ASCII, or a number of
// at most seven digits, and gives the index after it; 0 for everything else.
func skipPlain(b []byte, i int) int {
	if i+8 > len(b) {
		return 0
	}
	if b[i] != '"' {
		x := load64(b[i:])
		n := firstMark(nonDigits(x ^ '0'*each))
		if c := byte(x >> (8 * uint(n&7))); n > 0 && n < 8 && (byte(x) != '0' || n == 1) && (c == ',' || c == '}') {
			return i + n
		}
		return 0
	}
	for i++; i+8 <= len(b); i += 8 {
		if m := special(load64(b[i:])); m != 0 {
			if i += firstMark(m); b[i] == '"' {
				return i + 1
			}
			return 0
		}
	}
	return 0
}

// skip checks a value that no column wants.
func (d *jsonDecoder) skip(b []byte, i int) int {
	end := skipValue(b, skipBlank(b, i), 1, &d.fault)
	if end < 0 {
		return d.broken(d.fault.at, d.fault.msg)
	}
	return end
}

// endObject closes the row: fields that were missing are NULL.
func (d *jsonDecoder) endObject(i int) int {
	if d.found < len(d.cols) {
		for k := range d.cols {
			if d.jcols[k].seen != d.object {
				c := &d.cols[k]
				if c.NotNull {
					return d.reject(c, sqlerr.CodeNotNull, "is missing and the column is NOT NULL")
				}
				c.setNull(d.row, d.rows)
			}
		}
	}
	d.row++
	return i
}
