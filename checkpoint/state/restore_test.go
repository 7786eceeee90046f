package state

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var sampleDecls = []Decl{
	{Name: "groups", Keys: []types.Type{types.TBigInt, types.TText}, Words: 2, Heaps: []int{1}, Values: []string{"count", "max(text)"}},
	{Name: "distinct", Kind: KindChild, Parent: "groups", Keys: []types.Type{types.TInt}, Words: 1, Values: []string{"count"}},
	{Name: "windows", Kind: KindTimed, Keys: []types.Type{types.TDecimal(10, 2)}, Words: 1, Values: []string{"sum(int)"}},
	{Name: "fired", Kind: KindValue, Words: 1, Values: []string{"time"}},
}

var everything = stream.GroupRange{From: 0, To: 256}

func newSample(t testing.TB) *Backend {
	b, err := New(sampleDecls...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func upsertOne(t *Table, parent *uint32, vals ...types.Value) uint32 {
	cols := make([]*vec.Vector, len(vals))
	for c, v := range vals {
		cols[c] = vec.New(v.Type, 1)
		cols[c].AppendValue(v)
	}
	hashes, ids := make([]uint64, 1), make([]uint32, 1)
	vec.HashColumns(cols, 1, hashes)
	if parent != nil {
		t.UpsertOf([]uint32{*parent}, hashes, cols, nil, ids)
	} else {
		t.Upsert(hashes, cols, nil, ids)
	}
	t.Cells().Touch(ids)
	return ids[0]
}

// sampleImage makes a small state, and sampleDelta changes it.
func sampleImage(b *Backend) {
	g, d := b.Table("groups"), b.Table("distinct")
	for i, name := range []string{"ada", "", "bob"} {
		id := upsertOne(g, nil, types.IntValue(types.TBigInt, int64(i)-1), types.TextValue(name))
		g.Cells().Record(id)[g.ValueOffset()] = uint64(10 + i)
		g.Cells().SetBytes(id, g.ValueOffset()+1, []byte("max "+name))
		kid := upsertOne(d, &id, types.IntValue(types.TInt, 7))
		d.Cells().Record(kid)[d.ValueOffset()] = 1
	}
	upsertOne(g, nil, types.Null(types.TBigInt), types.TextValue("null"))
	for _, bucket := range []int64{-1000, 2000} {
		w := b.Timed("windows").At(bucket)
		id := upsertOne(w, nil, types.DecimalValue(types.TDecimal(10, 2), types.I128(-150)))
		w.Cells().Record(id)[w.ValueOffset()] = uint64(bucket)
	}
	v := b.Table("fired")
	v.Cells().Record(v.Row())[v.ValueOffset()] = 99
}

func sampleDelta(b *Backend) {
	g, d := b.Table("groups"), b.Table("distinct")
	id := upsertOne(g, nil, types.IntValue(types.TBigInt, 0), types.TextValue(""))
	d.Delete(upsertOne(d, &id, types.IntValue(types.TInt, 7)))
	g.Delete(id)
	b.Timed("windows").Drop(-1000)
}

func dump(b *Backend) string {
	var out strings.Builder
	table := func(name string, t *Table) {
		fmt.Fprintf(&out, "%s: %d\n", name, t.Len())
		ids, _, _ := t.Scan(nil, 0, 1000)
		for _, id := range ids {
			rec := t.Cells().Record(id)
			fmt.Fprintf(&out, "  %d:", id)
			if t.lay.parent != 0 {
				fmt.Fprintf(&out, " of %d", t.Parent(id))
			}
			for c := range t.lay.cols {
				v := vec.New(t.lay.cols[c].typ, 1)
				t.lay.appendKey(t.cells, c, []uint32{id}, v)
				x := v.Value(0)
				switch {
				case x.Null:
					out.WriteString(" NULL")
				case x.Type.Kind == types.Decimal:
					fmt.Fprintf(&out, " %s", x.Dec.AppendDecimal(nil, int(x.Type.Scale)))
				case x.Type.Kind == types.Text:
					fmt.Fprintf(&out, " %q", x.S)
				default:
					fmt.Fprintf(&out, " %d", x.I)
				}
			}
			out.WriteString(" ->")
			for w := t.lay.value; w < t.lay.width; w++ {
				if slices.Contains(t.lay.heaps, w) {
					fmt.Fprintf(&out, " %q", t.Cells().Bytes(id, w))
				} else {
					fmt.Fprintf(&out, " %d", int64(rec[w]))
				}
			}
			out.WriteByte('\n')
		}
	}
	for i, d := range b.decls {
		if b.tables[i] != nil {
			table(d.Name, b.tables[i])
			continue
		}
		for _, bucket := range b.timed[i].Buckets() {
			table(fmt.Sprintf("%s at %d", d.Name, bucket), b.timed[i].At(bucket))
		}
	}
	return out.String()
}

// TestFormat pins the bytes of format version 1 and what is read from them.
func TestFormat(t *testing.T) {
	b := newSample(t)
	var chain [][]byte
	datadriven.RunTest(t, "testdata/format.test", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "image", "delta":
			if d.Cmd == "image" {
				sampleImage(b)
			} else {
				sampleDelta(b)
			}
			s := b.Freeze(d.Cmd == "image")
			out, err := s.AppendTo(nil)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			b.Complete(s)
			return hex.Dump(out)
		case "blob":
			chain = append(chain, undump(t, d.Input))
			return "ok\n"
		case "restore":
			r := newSample(t)
			if err := r.Restore(everything, 256, []Part{{Groups: everything, Blobs: chain}}); err != nil {
				return err.Error() + "\n"
			}
			return dump(r)
		}
		d.Fatalf(t, "unknown command %q", d.Cmd)
		return ""
	})
}

// undump reads what hex.Dump wrote.
func undump(t *testing.T, s string) []byte {
	var out []byte
	for line := range strings.Lines(s) {
		if len(line) < 60 {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(line[9:59], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func sampleChain(t testing.TB) [][]byte {
	b := newSample(t)
	var chain [][]byte
	for i, change := range []func(*Backend){sampleImage, sampleDelta} {
		change(b)
		s := b.Freeze(i == 0)
		out, err := s.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Complete(s)
		chain = append(chain, out)
	}
	return chain
}

// TestEveryDamagedByteIsFound flips and cuts every byte of a chain.
func TestEveryDamagedByteIsFound(t *testing.T) {
	chain := sampleChain(t)
	try := func(what string, i int, bad []byte) {
		blobs := slices.Clone(chain)
		blobs[i] = bad
		err := newSample(t).Restore(everything, 256, []Part{{Groups: everything, Blobs: blobs}})
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
			t.Fatalf("blob %d, %s: error is %v", i, what, err)
		}
	}
	for i, blob := range chain {
		for k := range blob {
			bad := bytes.Clone(blob)
			bad[k] ^= 1 << (k % 8)
			try(fmt.Sprintf("byte %d flipped", k), i, bad)
			try(fmt.Sprintf("cut to %d bytes", k), i, blob[:k])
		}
		try("a byte too many", i, append(bytes.Clone(blob), 0))
	}
}

func TestRestoreRefuses(t *testing.T) {
	chain := sampleChain(t)
	half := stream.GroupRange{From: 0, To: 128}
	other := func(change func([]Decl)) []Decl {
		d := slices.Clone(sampleDecls)
		change(d)
		return d
	}
	moved, err := New(sampleDecls...)
	if err != nil {
		t.Fatal(err)
	}
	moved.Table("fired").Row()
	movedImage, err := moved.Freeze(true).AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		decls  []Decl
		groups int
		parts  []Part
		code   string
		msg    string
	}{
		{"delta first", sampleDecls, 256, []Part{{everything, chain[1:]}}, sqlerr.CodeCheckpoint, "blob 0"},
		{"two images", sampleDecls, 256, []Part{{everything, [][]byte{chain[0], chain[0]}}}, sqlerr.CodeCheckpoint, "blob 1"},
		{"half missing", sampleDecls, 256, []Part{{half, chain}}, sqlerr.CodeCheckpoint, "128 to 256 is missing"},
		{"twice", sampleDecls, 256, []Part{{everything, chain}, {half, chain}}, sqlerr.CodeCheckpoint, "exactly once"},
		{"odd groups", sampleDecls, 100, []Part{{everything, chain}}, sqlerr.CodeCheckpoint, "not a power of two"},
		{"key type", other(func(d []Decl) { d[0].Keys = []types.Type{types.TDouble, types.TText} }), 256,
			[]Part{{everything, chain}}, sqlerr.CodeStateMismatch, `"groups" is keyed (INTEGER, VARCHAR)`},
		{"accumulator", other(func(d []Decl) { d[2].Values = []string{"sum(double)"} }), 256,
			[]Part{{everything, chain}}, sqlerr.CodeStateMismatch, "sum(double)"},
		{"kind", other(func(d []Decl) { d[2].Kind = KindKeyed }), 256,
			[]Part{{everything, chain}}, sqlerr.CodeStateMismatch, "timed"},
		{"table gone", sampleDecls[:3], 256, []Part{{everything, chain}}, sqlerr.CodeStateMismatch, `no state table "fired"`},
		{"table new", append(slices.Clone(sampleDecls), Decl{Name: "more"}), 256,
			[]Part{{everything, chain}}, sqlerr.CodeStateMismatch, `no state table "more"`},
		{"value of another subtask", sampleDecls, 256,
			[]Part{{half, nil}, {stream.GroupRange{From: 128, To: 256}, [][]byte{movedImage}}}, sqlerr.CodeStateMismatch, `"fired" belongs to one subtask`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := New(c.decls...)
			if err != nil {
				t.Fatal(err)
			}
			err = b.Restore(everything, c.groups, c.parts)
			if sqlerr.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.msg) {
				t.Fatalf("error is %v (%s), want %q (%s)", err, sqlerr.CodeOf(err), c.msg, c.code)
			}
		})
	}
}

// TestWiderTypesAreTheSameState: what equality and the stored form do not depend on
// is not in the signature.
func TestWiderTypesAreTheSameState(t *testing.T) {
	decls := slices.Clone(sampleDecls)
	decls[0].Keys = []types.Type{types.TSmallInt, {Kind: types.Text, Length: 10}}
	decls[2].Keys = []types.Type{types.TDecimal(38, 2)}
	b, err := New(decls...)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(everything, 256, []Part{{everything, sampleChain(t)}}); err != nil {
		t.Fatal(err)
	}
}

func TestDeclarationsAreChecked(t *testing.T) {
	for _, decls := range [][]Decl{
		{{Name: ""}},
		{{Name: "a"}, {Name: "a"}},
		{{Name: "a", Words: 1, Heaps: []int{1}}},
		{{Name: "a", Kind: KindChild, Parent: "b"}, {Name: "b"}},
		{{Name: "b"}, {Name: "a", Kind: KindChild, Parent: "b"}, {Name: "c", Kind: KindChild, Parent: "a"}},
	} {
		if _, err := New(decls...); sqlerr.CodeOf(err) != sqlerr.CodeInternal {
			t.Errorf("%v: error is %v", decls, err)
		}
	}
}

// resum makes every checksum of a blob right, so that fuzzing gets past them.
func resum(data []byte) []byte {
	b := bytes.Clone(data)
	if len(b) < fileHeader {
		return b
	}
	binary.LittleEndian.PutUint32(b[12:], crcOf(b[:12]))
	for rest := b[fileHeader:]; len(rest) >= sectionHeader; {
		n := int(binary.LittleEndian.Uint32(rest[8:]))
		if n > len(rest)-sectionHeader {
			break
		}
		binary.LittleEndian.PutUint32(rest[12:], sectionSum(rest[:sectionHeader], rest[sectionHeader:sectionHeader+n]))
		rest = rest[sectionHeader+n:]
	}
	return b
}

// FuzzRestore: no bytes make Restore panic, and what it takes can be used.
func FuzzRestore(f *testing.F) {
	chain := sampleChain(f)
	f.Add(chain[0], chain[1], false, false)
	f.Add(chain[0], chain[1], true, true)
	f.Add(chain[1], chain[0], true, false)
	f.Fuzz(func(t *testing.T, image, delta []byte, fix, rescale bool) {
		if fix {
			image, delta = resum(image), resum(delta)
		}
		b := newSample(t)
		owned := everything
		if rescale {
			owned.To = 200
		}
		if err := b.Restore(owned, 256, []Part{{everything, [][]byte{image, delta}}}); err != nil {
			if c := sqlerr.CodeOf(err); c != sqlerr.CodeCheckpoint && c != sqlerr.CodeStateMismatch && c != sqlerr.CodeVersion {
				t.Fatalf("error is %v (%s)", err, c)
			}
			return
		}
		dump(b)
		sampleDelta(b)
		sampleImage(b)
		if _, err := b.Freeze(false).AppendTo(nil); err != nil {
			t.Fatal(err)
		}
	})
}
