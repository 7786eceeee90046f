package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/expr/agg"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators/opcheck"
	"github.com/streamsql/streamsql/planner/plan"
)

// TestScripts runs testdata/*.test. A directive is a plan node over columns, its input
// what happens to it:
//
//	calc columns=(k:text,v:bigint,f:bool) [where=f] select=(k,v,s::bigint)
//	assign columns=(…,ts:ts) size=10 [slide=5] [offset=1]     (time is the last column)
//	materialize columns=(…) key=(k) [mode=upsert]
//	union columns=(…)
//	group columns=(…) keys=(k) aggs=(count:*,sum:v) [mode=upsert]
//	window columns=(…,ts:ts) keys=(k) aggs=(…) size=10 [slide=5]
//
//	batch-rows=n     the target size of batches
//
//	+I x,5,t         a row; rows up to the next other line are one batch
//	+I x,5,t @12     with the watermark that it carries, in seconds
//	--               ends a batch
//	watermark 12
//	barrier
//	restore 2        at this parallelism, from the last barrier
//
// Times are seconds. Every case runs again cut into batches of 1 and 7 and with
// restores between any two calls, and must leave the same relation and counts.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := parseScript(t, d)
			var b strings.Builder
			h := s.harness(t, s.batchRows, nil)
			h.out = func(x *vec.Batch) {
				for i := range x.N {
					fmt.Fprintf(&b, "%s\n", s.format(x, i))
				}
				b.WriteString("--\n")
			}
			h.start(1)
			s.run(h, 0)
			for seed := range uint64(20) {
				o := s.harness(t, []int{1, 7, 100}[seed%3], rand.New(rand.NewPCG(seed, 9)))
				o.start(1)
				s.run(o, []int{1, 7}[seed%2])
				if got, want := o.check.Rows(), h.check.Rows(); !slices.Equal(got, want) {
					t.Fatalf("seed %d: got %q, want %q", seed, got, want)
				}
				if o.summary() != h.summary() {
					t.Fatalf("seed %d: %q, want %q", seed, o.summary(), h.summary())
				}
			}
			return b.String() + h.summary()
		})
	})
}

func (h *harness) summary() string {
	s := ""
	if h.late > 0 || h.partly > 0 {
		s += fmt.Sprintf("late=%d partly-late=%d\n", h.late, h.partly)
	}
	if len(h.failed) > 0 {
		var codes []string
		for _, e := range h.failed {
			codes = append(codes, e.Code)
		}
		s += fmt.Sprintf("failed %v\n", codes)
	}
	return s
}

type script struct {
	in        types.Schema
	node      *plan.Node
	keys      []int
	fixed     bool
	batchRows int
	lines     []string
}

func (s *script) harness(t testing.TB, batchRows int, rng *rand.Rand) *harness {
	return &harness{t: t, node: s.node, in: []types.Schema{s.in, s.in}, keys: s.keys, batchRows: batchRows, rng: rng, fixed: s.fixed}
}

// run plays the lines with batches of at most cut rows (0: as written).
func (s *script) run(h *harness, cut int) {
	var rows [][]types.Value
	var ops []vec.Op
	var wms []int64
	flush := func() {
		for len(rows) > 0 {
			n := len(rows)
			if cut > 0 && cut < n {
				n = cut
				if ops[n-1] == vec.UpdateBefore {
					n++
				}
			}
			b := batchOf(s.in, rows[:n], ops[:n])
			b.WM = slices.Min(wms[:n])
			if slices.Max(wms[:n]) > types.MinTime {
				b.RowWM = slices.Clone(wms[:n])
			}
			rows, ops, wms = rows[n:], ops[n:], wms[n:]
			h.batch(0, b)
		}
	}
	for _, line := range s.lines {
		word, rest, _ := strings.Cut(line, " ")
		op := slices.Index([]string{"+I", "-D", "-U", "+U"}, word)
		if op >= 0 {
			rest, wm, carried := strings.Cut(rest, " @")
			at := types.MinTime
			if carried {
				at = secs(wm)
			}
			rows, ops, wms = append(rows, s.values(rest)), append(ops, vec.Op(op)), append(wms, at)
			continue
		}
		flush()
		switch word {
		case "watermark":
			h.advance(secs(rest))
		case "barrier":
			h.freeze()
		case "restore":
			if h.rng == nil {
				p, _ := strconv.Atoi(rest)
				h.restore(p)
				h.drain()
			}
		}
	}
	flush()
}

func secs(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return int64(f * 1e6)
}

func (s *script) values(list string) []types.Value {
	var out []types.Value
	for i, f := range strings.Split(list, ",") {
		v := types.Value{Type: s.in[i].Type}
		switch {
		case f == "-":
			v.Null = true
		case v.Type.IsTimestamp():
			v.I = secs(f)
		case v.Type.Kind == types.Bool:
			v = types.BoolValue(f == "t")
		case v.Type.Phys() == types.PInt64:
			v.I, _ = strconv.ParseInt(f, 10, 64)
		default:
			v.S = f
		}
		out = append(out, v)
	}
	return out
}

func (s *script) format(b *vec.Batch, i int) string {
	parts := []string{b.Op(i).String()}
	for c := range b.Cols {
		if v := b.Cols[c]; v.Type.IsTimestamp() && !v.IsNull(i) {
			parts = append(parts, strconv.FormatFloat(float64(v.I64[i])/1e6, 'f', -1, 64))
			continue
		}
		parts = append(parts, strings.Trim(opcheck.Row(b, i, []int{c}), `"`))
	}
	return strings.Join(parts, " ")
}

func parseScript(t *testing.T, d *datadriven.TestData) *script {
	s := &script{batchRows: 100, lines: strings.Split(strings.TrimSpace(d.Input), "\n")}
	args := map[string][]string{}
	for _, a := range d.CmdArgs {
		args[a.Key] = a.Vals
	}
	kinds := map[string]types.Type{"text": types.TText, "bigint": types.TBigInt, "bool": types.TBool, "ts": types.TTimestamp(3)}
	for _, c := range args["columns"] {
		name, typ, _ := strings.Cut(c, ":")
		s.in = append(s.in, types.Column{Name: name, Type: kinds[typ]})
	}
	if v := args["batch-rows"]; v != nil {
		s.batchRows, _ = strconv.Atoi(v[0])
	}
	cols := func(names []string) (out []int) {
		for _, n := range names {
			if n != "" {
				out = append(out, s.in.Index(n))
			}
		}
		return out
	}
	mode := plan.Retract
	if v := args["mode"]; v != nil {
		mode = plan.ChangelogMode(v[0])
	}
	window := plan.Window{Tick: 1000, TimeType: types.TTimestamp(3)}
	if v := args["size"]; v != nil {
		window.Size = secs(v[0])
		window.Slide = window.Size
	}
	if v := args["slide"]; v != nil {
		window.Slide = secs(v[0])
	}
	if v := args["offset"]; v != nil {
		window.Offset = secs(v[0])
	}
	var aggs []expr.AggCall
	for _, v := range args["aggs"] {
		fn, arg, _ := strings.Cut(v, ":")
		c := expr.AggCall{Fn: fn, Filter: -1}
		var in []types.Type
		if arg != "*" {
			c.Args = cols([]string{arg})
			in = []types.Type{s.in[c.Args[0]].Type}
		}
		f, _ := agg.Find(fn)
		_, c.Type, _ = f.Resolve(in)
		aggs = append(aggs, c)
	}
	s.node = &plan.Node{Role: d.Cmd, Schema: s.in, Changelog: mode, Time: -1}
	switch d.Cmd {
	case "calc":
		s.calc(args["where"], args["select"])
		s.fixed = true
	case "assign":
		s.node.Assign = &plan.Assign{Window: window, Time: len(s.in) - 1}
		for _, n := range []string{"window_start", "window_end", "window_time"} {
			s.node.Schema = append(s.node.Schema, types.Column{Name: n, Type: types.TTimestamp(3)})
		}
		s.keys = []int{0}
	case "materialize":
		s.node.Key = cols(args["key"])
		s.node.Materialize = &plan.Materialize{Key: s.node.Key}
		s.keys = s.node.Key
	case "union":
		s.node.Union = &plan.Union{}
		s.fixed = true
	case "group":
		s.keys = cols(args["keys"])
		s.node = groupNode(s.in, s.keys, aggs, mode)
		s.fixed = len(s.keys) == 0
	case "window":
		s.keys = cols(args["keys"])
		w := &plan.WindowAgg{Window: window, Time: len(s.in) - 1, Keys: s.keys, Aggs: aggs, Props: []plan.WindowProp{plan.WindowEnd}}
		s.node = groupNode(s.in, s.keys, aggs, plan.Append)
		s.node.GroupAgg, s.node.WindowAgg, s.node.Key = nil, w, nil
		s.node.Schema = append(s.node.Schema, types.Column{Name: "window_end", Type: window.TimeType})
	default:
		t.Fatalf("unknown directive %q", d.Cmd)
	}
	return s
}

func (s *script) calc(where, outputs []string) {
	c := &plan.Calc{}
	col := func(name string) *expr.Expr {
		i := s.in.Index(name)
		return expr.Col(i, s.in[i].Type)
	}
	if where != nil {
		c.Predicate = col(where[0])
	}
	s.node.Schema = nil
	for _, o := range outputs {
		name, cast := strings.CutSuffix(o, "::bigint")
		e := col(name)
		if cast {
			e = &expr.Expr{Kind: expr.Cast, Type: types.TBigInt, Args: []*expr.Expr{e}}
		}
		c.Exprs = append(c.Exprs, e)
		s.node.Schema = append(s.node.Schema, types.Column{Name: o, Type: e.Type})
	}
	s.node.Calc = c
}
