package console

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

func parseSchema(t *testing.T, s string) (out types.Schema) {
	t.Helper()
	names := map[string]types.Type{"BOOLEAN": types.TBool, "INT": types.TInt, "BIGINT": types.TBigInt, "TEXT": types.TText,
		"DOUBLE": types.TDouble, "REAL": types.TReal, "BYTES": types.TBytes, "INTERVAL": types.TInterval}
	for _, part := range strings.Split(s, ";") {
		name, spec, _ := strings.Cut(strings.TrimSpace(part), " ")
		kind, params, _ := strings.Cut(strings.TrimSuffix(spec, ")"), "(")
		p, sc, _ := strings.Cut(params, ",")
		pn, _ := strconv.Atoi(p)
		sn, _ := strconv.Atoi(sc)
		ty, ok := names[kind]
		switch kind {
		case "DECIMAL":
			ty = types.TDecimal(pn, sn)
		case "TIMESTAMPTZ":
			ty = types.TTimestampTZ(pn)
		default:
			if !ok {
				t.Fatalf("unknown type %q", kind)
			}
		}
		out = append(out, types.Column{Name: strings.ReplaceAll(name, "␠", " "), Type: ty})
	}
	return out
}

// parseBatches reads one row a line, an op and a JSON object; "--" starts a new batch.
func parseBatches(t *testing.T, schema types.Schema, input string) (out []*vec.Batch) {
	t.Helper()
	var cols []format.Column
	for _, c := range schema {
		cols = append(cols, format.Column{Field: c.Name, Type: c.Type})
	}
	f, err := format.Find("json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.NewDecoder(cols, nil)
	if err != nil {
		t.Fatal(err)
	}
	ops := map[string]vec.Op{"+I": vec.Insert, "-D": vec.Delete, "-U": vec.UpdateBefore, "+U": vec.UpdateAfter}
	for _, part := range strings.Split(input, "\n--\n") {
		b := vec.NewBatch(schema.Types(), 0)
		var rowOps []vec.Op
		for _, line := range strings.Split(part, "\n") {
			if line == "" {
				continue
			}
			op, text := "+I", line
			if line[0] != '{' {
				op, text, _ = strings.Cut(line, " ")
			}
			if _, errs := d.Decode([][]byte{[]byte(text)}, b, nil, nil); len(errs) > 0 {
				t.Fatalf("%s: %v", line, errs)
			}
			rowOps = append(rowOps, ops[op])
		}
		if slices.ContainsFunc(rowOps, func(o vec.Op) bool { return o != vec.Insert }) {
			b.Ops = rowOps
		}
		out = append(out, b)
	}
	return out
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var schema types.Schema
			name, ops := FormatTable, false
			for _, a := range d.CmdArgs {
				switch a.Key {
				case "cols":
					schema = parseSchema(t, strings.Join(a.Vals, ","))
				case "format":
					name = a.Vals[0]
				case "ops":
					ops = true
				}
			}
			batches := parseBatches(t, schema, d.Input)
			var out bytes.Buffer
			var err error
			switch d.Cmd {
			case "print":
				var p *Printer
				if p, err = NewPrinter(&out, schema, name, ops); err != nil {
					break
				}
				n := 0
				for _, b := range batches {
					if b.N > 0 {
						err = p.Print(b)
						n += b.N
					}
				}
				if err == nil {
					err = p.Finish(n)
				}
			case "fold":
				f := NewFolder(schema)
				for _, b := range batches {
					if err = f.Add(b); err != nil {
						break
					}
				}
				if err == nil {
					err = f.Print(&out, name)
				}
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			if err != nil {
				return err.Error() + "\n"
			}
			return out.String()
		})
	})
}

// A long changelog leaves what a plain list of rows says, however it is cut.
func TestFolderAgainstList(t *testing.T) {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 0))
	ts := []types.Type{types.TInt, types.TText}
	f := NewFolder(types.Schema{{Name: "k", Type: ts[0]}, {Name: "v", Type: ts[1]}})
	var want []string
	row := func(b *vec.Batch, k int, op vec.Op) {
		b.Cols[0].AppendInt64(int64(k))
		b.Cols[1].AppendString(fmt.Sprint("v", k))
		b.AppendOp(op)
	}
	show := func(k int) string { return fmt.Sprintf("%d,v%d", k, k) }
	var live []int
	for range 300 {
		b := vec.NewBatch(ts, 0)
		for range r.IntN(60) {
			k := r.IntN(40)
			switch x := r.IntN(10); {
			case len(live) > 50 && x < 5:
				// The newest of equal rows goes.
				i := r.IntN(len(live))
				for j := i + 1; j < len(live); j++ {
					if live[j] == live[i] {
						i = j
					}
				}
				if x < 2 {
					row(b, live[i], vec.UpdateBefore)
					row(b, k, vec.UpdateAfter)
					live[i] = k
				} else {
					row(b, live[i], vec.Delete)
					live = slices.Delete(live, i, i+1)
				}
			default:
				row(b, k, vec.Insert)
				live = append(live, k)
			}
		}
		if err := f.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range live {
		want = append(want, show(k))
	}
	got := f.Rows()
	if got.N != len(live) || f.Len() != len(live) {
		t.Fatalf("%d rows, want %d", got.N, len(live))
	}
	var have []string
	for i := range got.N {
		have = append(have, fmt.Sprintf("%d,%s", got.Cols[0].I64[i], got.Cols[1].Bytes(i)))
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("other rows (seed %d)", seed)
	}
	if f.rows.N > 2*f.live+1024 {
		t.Fatalf("%d rows kept for %d", f.rows.N, f.live)
	}
}

func TestConnectors(t *testing.T) {
	ctx := context.Background()
	schema := parseSchema(t, "k INT")
	var out bytes.Buffer
	con := Connector()
	if _, err := con.Capabilities(map[string]string{"format": "xml"}, false); err == nil {
		t.Error("format xml accepted")
	}
	caps, err := con.Capabilities(nil, false)
	if err != nil || !caps.CanWrite || !caps.Changelog || !caps.Early || !caps.Transient || caps.Commit || caps.CanRead {
		t.Errorf("%+v %v", caps, err)
	}
	s, err := con.OpenSink(ctx, connectors.Config{Schema: schema, Env: connectors.Env{Stdout: &out, OutputFormat: "csv"}})
	if err != nil {
		t.Fatal(err)
	}
	black := Blackhole()
	if caps, err = black.Capabilities(nil, true); err != nil || !caps.Idempotent || !caps.Upserts {
		t.Errorf("%+v %v", caps, err)
	}
	hole, err := black.OpenSink(ctx, connectors.Config{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []connectors.Sink{s, hole} {
		if err := sink.Check(ctx); err != nil || sink.Group() != "" {
			t.Errorf("check: %v, group %q", err, sink.Group())
		}
		for sub := range 2 {
			w, err := sink.OpenWriter(ctx, connectors.WriterContext{Subtask: sub})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(ctx, parseBatches(t, schema, "{\"k\":1}\n-D {\"k\":1}")[0]); err != nil {
				t.Fatal(err)
			}
			if token, err := w.Seal(ctx, 1); token != nil || err != nil {
				t.Fatalf("token %q, %v", token, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "op,k\n+I,1\n-D,1\n+I,1\n-D,1\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if n := hole.(*BlackholeSink).Rows(); n != 4 {
		t.Errorf("%d rows counted", n)
	}
}
