package expr_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var lawSchema = types.Schema{
	{Name: "i", Type: types.TInt}, {Name: "j", Type: types.TBigInt}, {Name: "s", Type: types.TText}, {Name: "u", Type: types.TText},
	{Name: "b", Type: types.TBool}, {Name: "c", Type: types.TBool}, {Name: "d", Type: types.TDecimal(10, 2)}, {Name: "e", Type: types.TDecimal(38, 6)},
	{Name: "f", Type: types.TDouble}, {Name: "t", Type: types.TTimestamp(3)}, {Name: "v", Type: types.TInterval}, {Name: "h", Type: types.TSmallInt},
}

// lawExprs is what the programs of the law are made of: predicates and outputs.
var lawExprs = []string{
	"i", "s", "b", "d", "t", "v", "NULL::INT", "'lit'", "42",
	"i + 1", "i + i", "j * j", "h - h", "i / h", "i % h", "j % 7", "-i", "ABS(i)", "0.908 * j", "d * e", "d + e", "d / e", "e - 1.5", "d % 3", "f * 2::DOUBLE", "f / f", "f + j::DOUBLE",
	"i = 5", "5 < i", "i <= j", "i <> h", "d > 1.5", "1.5 > d", "d = e", "e <= 100", "f > 0.5", "s = 'abc'", "s < u", "u <> 'x'", "t >= TIMESTAMP '2024-01-01'", "v > INTERVAL '1 day'", "b = c", "b < c",
	"b AND c", "b OR c", "NOT b", "b AND i > 3 AND s <> 'abc'", "b OR c OR j / h > 1", "i / h > 1 OR b", "h <> 0 AND i / h > 1", "b IS TRUE", "b IS NOT FALSE", "s IS NULL", "i IS DISTINCT FROM j", "b IS NOT DISTINCT FROM c",
	"CASE WHEN h <> 0 THEN i / h ELSE 0 END", "CASE WHEN b THEN s WHEN c THEN UPPER(s) ELSE u END", "CASE WHEN b THEN 1 / h WHEN c THEN 2 / h END", "CASE WHEN i > 3 THEN i / h WHEN i > 1 THEN i / h + 1 ELSE 7 END",
	"CASE WHEN b THEN d ELSE e END", "CASE WHEN c THEN t END", "CASE WHEN c THEN v ELSE v + v END", "CASE WHEN b THEN b ELSE c END", "CASE WHEN f > 0::DOUBLE THEN f ELSE -f END",
	"COALESCE(s, u, 'none')", "COALESCE(i, j, h)", "COALESCE(i, i / h)", "NULLIF(i, j)", "NULLIF(s, 'abc')", "IF(b, i, h)", "GREATEST(i, h, 3)", "LEAST(s, u)", "i IN (1, 2, 3)", "s IN ('abc', 'x', NULL)", "j IN (i, h)",
	"LOWER(s)", "UPPER(s) || u", "CHAR_LENGTH(s)", "SUBSTRING(s, i, h)", "SUBSTRING(s, 2)", "REPLACE(s, 'b', u)", "LPAD(s, i, '*')", "CONCAT(s, i, b, u)", "CONCAT_WS(u, s, i)", "SPLIT_INDEX(s, 'b', 1)", "SPLIT_INDEX(s, 'b', i)",
	"LOWER(s) = 'abc' OR LOWER(s) = 'x'", "s LIKE 'a%'", "s LIKE u", "s ILIKE '%B%'", "REGEXP_EXTRACT(s, '(a|^)b(.*)', 2)", "REGEXP_EXTRACT(s, '[ab]+c?', 0)", "REGEXP_REPLACE(s, 'b', 'X')",
	"CAST(s AS INT)", "TRY_CAST(s AS INT)", "COALESCE(TRY_CAST(s AS INT), 0)", "TRY_CAST(i / h AS VARCHAR)", "CAST(i AS VARCHAR)", "CAST(d AS INT)", "CAST(f AS SMALLINT)", "CAST(e AS DECIMAL(8,1))", "CAST(j AS INT)", "CAST(t AS DATE)", "CAST(b AS VARCHAR)", "CAST(s AS VARCHAR(2))",
	"CAST(h AS INT)", "CAST(CAST(h AS INT) AS BIGINT)", "CAST(CAST(i AS BIGINT) % 3 AS BIGINT)", "CAST(h AS INT) % 3 = 0", "CAST(h AS INT) IS NULL",
	"t + INTERVAL '1 hour'", "t - INTERVAL '1 month'", "t + v", "t - TIMESTAMP '2024-01-01'", "v * 1.5::DOUBLE", "HOUR(t)", "EXTRACT('epoch', t)", "DATE_TRUNC('hour', t)", "DATE_FORMAT(t, 'yyyy-MM-dd HH:mm:ss.SSS')", "DATE_FORMAT(t, 'HH:mm')", "TO_CHAR(t, 'Day DD')", "TIMESTAMPDIFF('MONTH', t, TIMESTAMP '2024-01-31')",
}

func lawBatch(r *rand.Rand, n int) *vec.Batch {
	b := vec.NewBatch(lawSchema.Types(), n)
	texts := []string{"abc", "", "x", "ABC", "日本b語", "12", " 7", "9999999999", "bbb", "abcabc", "ab"}
	for range n {
		for c, v := range b.Cols {
			if r.IntN(6) == 0 {
				v.AppendNull()
				continue
			}
			switch v.Type.Phys() {
			case types.PBool:
				v.AppendBool(r.IntN(2) == 0)
			case types.PInt64:
				switch x := int64(r.IntN(9) - 2); {
				case v.Type.Kind == types.Timestamp:
					v.AppendInt64((1706659200000 + r.Int64N(1e9) - r.Int64N(2)*1706659200000) * 1000)
				case r.IntN(20) == 0 && c == 1:
					v.AppendInt64(x << 60)
				case r.IntN(20) == 0 && c == 0:
					v.AppendInt64(2147483647)
				case r.IntN(20) == 0 && c == 11:
					v.AppendInt64(-32768)
				default:
					v.AppendInt64(x)
				}
			case types.PFloat64:
				v.AppendFloat64([]float64{0, 1.5, -2.5, 1e300, 40000, 0.25}[r.IntN(6)])
			case types.PInt128:
				x := types.I128(int64(r.IntN(100000) - 50000))
				if v.Type.Precision == 38 && r.IntN(10) == 0 {
					x = types.Pow10(37)
				}
				v.AppendInt128(x)
			case types.PBytes:
				v.AppendString(texts[r.IntN(len(texts))])
			case types.PInterval:
				v.AppendInterval(types.IntervalValue{Months: int32(r.IntN(5) - 2), Days: int32(r.IntN(60)), Micros: r.Int64N(1e11)})
			}
		}
		b.N++
	}
	return b
}

// rowwise is the specification: the expression with the row's values put in.
func rowwise(e *expr.Expr, b *vec.Batch, i int) (string, string) {
	by := make([]*expr.Expr, len(b.Cols))
	for c, v := range b.Cols {
		by[c] = expr.Lit(v.Value(i))
	}
	x, err := expr.EvalConst(e.Substitute(by))
	if err != nil {
		return "", errText(err)
	}
	return textOf(x), ""
}

func textOf(x types.Value) string {
	if x.Null {
		return "NULL"
	}
	return string(vec.AppendValueText(nil, x))
}

// TestProgramsAgreeWithRows is the law of programs: over any batch, with any predicate
// and any set of outputs, each row has the value and the error that it has alone.
func TestProgramsAgreeWithRows(t *testing.T) {
	r := seeded(t)
	var all, predicates []*expr.Expr
	for _, s := range lawExprs {
		e := mustBind(t, s, lawSchema)
		all = append(all, e)
		if e.Type.Kind == types.Bool {
			predicates = append(predicates, e)
		}
	}
	for round := range 300 {
		b := lawBatch(r, []int{0, 1, 7, 63, 64, 65, 200}[r.IntN(7)])
		var predicate *expr.Expr
		if r.IntN(4) > 0 {
			predicate = predicates[r.IntN(len(predicates))]
		}
		outputs := make([]*expr.Expr, 1+r.IntN(5))
		for i := range outputs {
			outputs[i] = all[r.IntN(len(all))]
		}
		p, err := expr.Compile(predicate, outputs, lawSchema.Types())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			checkRun(t, p, b, predicate, outputs, fmt.Sprintf("round %d", round))
		}
	}
}

// TestRetypedTwice: a column under a type that the predicate has computed, and again
// under another.
func TestRetypedTwice(t *testing.T) {
	r := seeded(t)
	predicate := mustBind(t, "CAST(h AS INT) IS NOT NULL", lawSchema)
	outputs := []*expr.Expr{mustBind(t, "CAST(CAST(h AS INT) AS BIGINT)", lawSchema)}
	p, err := expr.Compile(predicate, outputs, lawSchema.Types())
	if err != nil {
		t.Fatal(err)
	}
	checkRun(t, p, lawBatch(r, 200), predicate, outputs, "retyped twice")
}

func checkRun(t *testing.T, p *expr.Program, b *vec.Batch, predicate *expr.Expr, outputs []*expr.Expr, where string) {
	t.Helper()
	var errs expr.RowErrors
	out, sel, whole := p.Run(b, &errs)
	k := 0
	for i := range b.N {
		var fail, want string
		pass := true
		if predicate != nil {
			want, fail = rowwise(predicate, b, i)
			pass = want == "t"
		}
		var cells []string
		for _, e := range outputs {
			if !pass || fail != "" {
				break
			}
			var cell string
			cell, fail = rowwise(e, b, i)
			cells = append(cells, cell)
		}
		if (fail != "") != errs.Failed(int32(i)) {
			t.Fatalf("%s: row %d: error %q expected, reported: %v\npredicate %v outputs %v", where, i, fail, errs.List, predicate, outputs)
		}
		if fail != "" || !pass {
			continue
		}
		if whole && k != i || !whole && (k >= len(sel) || int(sel[k]) != i) {
			t.Fatalf("%s: row %d is missing\npredicate %v", where, i, predicate)
		}
		for c, e := range outputs {
			if got := textOf(out[c].Value(k)); got != cells[c] {
				t.Fatalf("%s: row %d of %v: %q, alone %q", where, i, e, got, cells[c])
			}
			if out[c].Type != e.Type {
				t.Fatalf("%s: %v has type %s, its column %s", where, e, e.Type, out[c].Type)
			}
		}
		k++
	}
	for c, v := range out {
		if v.Len != k {
			t.Fatalf("%s: output %d has %d rows of %d", where, c, v.Len, k)
		}
		v.Release()
	}
}

// TestRowErrors: errors of rows that are needed, and only of those.
func TestRowErrors(t *testing.T) {
	schema := types.Schema{{Name: "id", Type: types.TInt}, {Name: "a", Type: types.TInt}, {Name: "b", Type: types.TInt}}
	b := vec.NewBatch(schema.Types(), 3)
	for _, row := range [][]int64{{1, 10, 2}, {2, 10, 0}, {3, 9, 3}} {
		for c, x := range row {
			b.Cols[c].AppendInt64(x)
		}
		b.N++
	}
	for _, c := range []struct{ predicate, output, rows, failed string }{
		{"", "a / b", "[0 2]", "1 22012 division by zero"},
		{"a / b > 4", "id", "[0]", "1 22012 division by zero"},
		{"b <> 0", "a / b", "[0 2]", ""},
		{"b <> 0 AND a / b > 4", "a / b", "[0]", ""},
		{"", "CASE WHEN b = 0 THEN 0 ELSE a / b END", "[0 1 2]", ""},
		{"", "COALESCE(id, 1 / 0)", "[0 1 2]", ""},
		{"", "TRY_CAST(a / b AS VARCHAR)", "[0 2]", "1 22012 division by zero"},
		{"id < 3", "CASE WHEN id = 2 THEN 1 / 0 ELSE 5 END", "[0]", "1 22012 division by zero"},
	} {
		var predicate *expr.Expr
		if c.predicate != "" {
			predicate = mustBind(t, c.predicate, schema)
		}
		p, err := expr.Compile(predicate, []*expr.Expr{mustBind(t, c.output, schema)}, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		var errs expr.RowErrors
		_, sel, all := p.Run(b, &errs)
		if all {
			sel = []int32{0, 1, 2}
		}
		var failed []string
		for _, e := range errs.List {
			failed = append(failed, fmt.Sprint(e.Row, " ", e.Code, " ", e.Msg))
		}
		if got := strings.Join(failed, "; "); fmt.Sprint(sel) != c.rows || got != c.failed {
			t.Errorf("WHERE %s SELECT %s: rows %v errors %q, want %s %q", c.predicate, c.output, sel, got, c.rows, c.failed)
		}
	}
}

// TestThreeValuedLogic counts the rows 5, 6 and NULL that a predicate lets through.
func TestThreeValuedLogic(t *testing.T) {
	schema := types.Schema{{Name: "v", Type: types.TInt}}
	b := vec.NewBatch(schema.Types(), 3)
	b.Cols[0].AppendInt64(5)
	b.Cols[0].AppendInt64(6)
	b.Cols[0].AppendNull()
	b.N = 3
	for predicate, want := range map[string]int{
		"v <> 5": 1, "NOT (v = 5)": 1, "v IS NOT NULL": 2, "v <> NULL": 0, "v IS DISTINCT FROM 5": 2,
		"v = 5 OR v IS NULL": 2, "NOT (v = 5 AND v = v)": 1, "v IN (5, NULL)": 1, "NOT v IN (5, NULL)": 0, "v = 5 OR v <> 5": 2,
	} {
		p, err := expr.Compile(mustBind(t, predicate, schema), nil, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		var errs expr.RowErrors
		_, sel, all := p.Run(b, &errs)
		if all {
			sel = []int32{0, 1, 2}
		}
		if len(sel) != want {
			t.Errorf("%s: rows %v, want %d", predicate, sel, want)
		}
	}
}

// TestTextToNumber: a text that is no number fails its own row and no other.
func TestTextToNumber(t *testing.T) {
	schema := types.Schema{{Name: "s", Type: types.TText}}
	b := vec.NewBatch(schema.Types(), 6)
	for _, s := range []string{"1", " 42", "", "1e3", "x", "3"} {
		b.Cols[0].AppendString(s)
		b.N++
	}
	for text, want := range map[string]string{"CAST(s AS INT)": "46 [2 3 4]", "TRY_CAST(s AS INT)": "46 []"} {
		p, err := expr.Compile(nil, []*expr.Expr{mustBind(t, text, schema)}, schema.Types())
		if err != nil {
			t.Fatal(err)
		}
		var errs expr.RowErrors
		out, _, _ := p.Run(b, &errs)
		sum := int64(0)
		for i := range out[0].Len {
			if !out[0].IsNull(i) {
				sum += out[0].I64[i]
			}
		}
		failed := []int32{}
		for _, e := range errs.List {
			failed = append(failed, e.Row)
			if e.Code != "22P02" {
				t.Errorf("row %d: %s", e.Row, e.Code)
			}
		}
		if got := fmt.Sprint(sum, " ", failed); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestColumnsPassThrough: a plain column of all rows is the batch's own.
func TestColumnsPassThrough(t *testing.T) {
	b := lawBatch(rand.New(rand.NewPCG(1, 1)), 10)
	p, err := expr.Compile(nil, []*expr.Expr{mustBind(t, "s", lawSchema)}, lawSchema.Types())
	if err != nil {
		t.Fatal(err)
	}
	var errs expr.RowErrors
	if out, _, all := p.Run(b, &errs); out[0] != b.Cols[2] || !all {
		t.Error("the column was copied")
	}
}

func TestJSONRoundTrip(t *testing.T) {
	literals := []string{"'NaN'::DOUBLE", "'-Infinity'::DOUBLE", "'-0'::DOUBLE", "'\\x00ff80'::BYTEA", "1.5", "'x'", "NULL", "INTERVAL '-1 month 2 days'", "99999999999999999999999999999999999.5"}
	for _, s := range append(literals, lawExprs...) {
		e := mustBind(t, s, lawSchema)
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back expr.Expr
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !back.Equal(e) || back.String() != e.String() {
			t.Errorf("%s comes back as %s", e, &back)
		}
	}
}

func TestFormat(t *testing.T) {
	for in, want := range map[string]string{
		"i + 1 > 2 AND b":               "((i + 1) > 2) AND b",
		"NOT b OR s LIKE 'a''%'":        "NOT b OR (s LIKE 'a''%')",
		"CASE WHEN b THEN 1 ELSE i END": "CASE WHEN b THEN 1 ELSE i END",
		"CAST(s AS DECIMAL(5,2)) * 0.5": "CAST(s AS DECIMAL(5,2)) * 0.5",
		"s IS NOT NULL":                 "s IS NOT NULL",
		"COALESCE(s, 'x')":              "COALESCE(s, 'x')",
		"LOWER(s) IN ('a', 'b')":        "LOWER(s) IN ('a', 'b')",
		"t - INTERVAL '5 seconds'":      "t - INTERVAL '00:00:05'",
		"-i":                            "-i",
	} {
		if got := mustBind(t, in, lawSchema).Format(lawSchema.Names()); got != want {
			t.Errorf("%s prints as %s, want %s", in, got, want)
		}
	}
	e := mustBind(t, "i + j", lawSchema).Shift(3)
	if got := e.String(); got != "CAST($4 AS BIGINT) + $5" || fmt.Sprint(e.Columns()) != "[3 4]" {
		t.Errorf("shifted to %s, columns %v", got, e.Columns())
	}
}
