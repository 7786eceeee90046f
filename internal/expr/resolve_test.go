package expr_test

import (
	"strings"
	"testing"

	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// TestErrors: each expression is refused with this SQLSTATE, while it is bound or for
// the row. The codes are PostgreSQL's.
func TestErrors(t *testing.T) {
	for in, code := range map[string]string{
		"10 / 0": "22012", "10 % 0": "22012", "1.5 / 0": "22012", "1.5 % 0.0": "22012", "1::DOUBLE / 0::DOUBLE": "22012",
		"2147483647 + 1": "22003", "-2147483647 - 2": "22003", "46341 * 46341": "22003", "9223372036854775807 + 1::BIGINT": "22003",
		"32767::SMALLINT + 1::SMALLINT": "22003", "-(-32768)::SMALLINT": "22003", "(-9223372036854775807 - 1) / (-1)::BIGINT": "22003",
		"99999999999999999999999999999999999.999::DECIMAL(38,3) + 1.000": "22003", "1e308::DOUBLE * 10::DOUBLE": "22003",
		"CAST(3000000000 AS INT)": "22003", "CAST(1000 AS DECIMAL(5,2))": "22003", "CAST('NaN'::DOUBLE AS INT)": "22003", "CAST(1e10::DOUBLE AS INT)": "22003",
		"CAST('x' AS INT)": "22P02", "CAST('' AS INT)": "22P02", "CAST('1e3' AS INT)": "22P02", "COALESCE(CAST('x'::TEXT AS INT), 0)": "22P02",
		"CAST('2024-13-01' AS DATE)": "22008", "CAST('soon' AS TIMESTAMP)": "22007", "CAST('{' AS JSON)": "22P02", "'x'::UUID": "22P02",
		"1 + 'x'": "22P02", "5 = 'abc'": "22P02", "TRUE = 'maybe'": "22P02",
		"1 + TRUE": "42883", "'a'::TEXT + 1": "42883", "'a'::TEXT = 1": "42883", "NOSUCH(1)": "42883", "LOWER(5)": "42883", "ABS('a'::TEXT)": "42883", "SUBSTRING('a')": "42883", "f(1)": "42883", "1.5::DOUBLE % 2::DOUBLE": "42883",
		"CAST(TRUE AS DATE)": "42846", "CAST(5 AS TIMESTAMP)": "42846", "COALESCE(1, 'a'::TEXT)": "42804", "CASE WHEN 5 THEN 1 END": "42804", "NOT 5": "42883", "1 AND TRUE": "42804", "CASE WHEN TRUE THEN 1 ELSE 'a'::TEXT END": "42804",
		"NOW(1)": "42883", "CURRENT_DATE(1)": "42883", "CLOCK_TIMESTAMP()": "0A000", "UNIX_TIMESTAMP(TIMESTAMP '2024-01-01')": "0A000", "TO_TIMESTAMP('2024', 'YYYY')": "0A000", "TO_TIMESTAMP(TRUE)": "42883", "PROCTIME(3)": "42883", "EXTRACT('hour', DATE '2024-01-01')": "0A000", "EXTRACT('moon', DATE '2024-01-01')": "22023",
		"SQRT(-1)": "2201F", "LN(0)": "2201E", "POWER(0::DOUBLE, -1::DOUBLE)": "2201F", "SUBSTRING('a', 1, -1)": "22011", "CHR(0)": "54000", "SPLIT_PART('a', ',', 0)": "22023", "DECODE('zz', 'hex')": "22023", "ENCODE('a'::BYTEA, 'rot13')": "22023",
		"'a' LIKE 'a\\'": "22025", "REGEXP_LIKE('a', '(')": "2201B", "REGEXP_LIKE('a', CONCAT('(', 'a'))": "2201B", "JSON '{\"a\": \"\\u0000\"}' ->> 'a'": "22P05", "JSON '{\"a\": \"\\ud83d\"}' ->> 'a'": "22P02", "JSON_VALUE('{\"x\": \"x\\ude00\"}', '$.x')": "22P02",
		"TIMESTAMP '294246-12-31' + INTERVAL '1 year'": "22008", "TIMESTAMP '2024-01-01' + INTERVAL '2147483647 days'": "22008",
		"TIMESTAMP '2024-01-01' - INTERVAL '-2147483648 days'": "22008", "TIMESTAMP '9999-12-31' + INTERVAL '2562047788 hours'": "22008", "DATE '2024-01-01' + 2147483647": "22008",
		"INTERVAL '2147483647 days' + INTERVAL '1 day'": "22008", "CAST('4714-11-23 BC' AS DATE)": "22008", "CAST('4714-11-23 23:59:59 BC' AS TIMESTAMP)": "22008", "DATE_FORMAT(TIMESTAMP '2024-01-01', 'yyyy-QQ')": "22023", "TO_TIMESTAMP_LTZ(1, 9)": "22023", "TIMEZONE('Mars/Olympus', TIMESTAMP '2024-01-01')": "22023", "TIMEZONE('', TIMESTAMP '2024-01-01')": "22023",
		"123456789012345678901234567890123456789": "22003",
	} {
		if got := evalText(in); !strings.HasPrefix(got, "!"+code+" ") {
			t.Errorf("%s: %q, want %s", in, got, code)
		}
	}
}

// TestValues are results that PostgreSQL cannot judge: our own choices.
func TestValues(t *testing.T) {
	for in, want := range map[string]string{
		"COALESCE(TRY_CAST('x' AS INT), 0)": "0", "TRY_CAST('x' AS DATE)": "NULL", "TRY_CAST(' 42' AS INT)": "42",
		// A zone is applied, not ignored.
		"TIMESTAMP '2024-01-01T12:00+02:00'": "2024-01-01 10:00:00", "CAST('2024-01-01T12:00:00+0200' AS TIMESTAMP)": "2024-01-01 10:00:00",
		// TIMESTAMP(p) cuts.
		"CAST('2024-01-01 00:00:00.9999' AS TIMESTAMP(3))": "2024-01-01 00:00:00.999", "CAST(TIMESTAMP '1969-12-31 23:59:59.9999' AS TIMESTAMP(0))": "1969-12-31 23:59:59",
		"DATE_FORMAT(TIMESTAMP '2024-01-05 16:07:08.091', '%Y-%m-%d %H:%i:%s %p %h %W %j')": "2024-01-05 16:07:08 PM 04 Friday 005",
		"DATE_FORMAT(TIMESTAMP '2024-01-05 16:07:08.091', 'EEE d MMM yy h:m a''x''')":       "Fri 5 Jan 24 4:7 PMx",
		"SPLIT_INDEX('a/b', '/', 2)": "NULL", "SPLIT_INDEX('a/b', '/', -1)": "NULL", "SPLIT_INDEX('a/b', '/', 1)": "b", "SPLIT_INDEX('', '/', 0)": "", "SPLIT_INDEX('a日b', '日', 1)": "b",
		"REGEXP_EXTRACT('abc', 'x', 0)": "NULL", "REGEXP_EXTRACT('abc', '(x)?b', 1)": "NULL", "REGEXP_EXTRACT('abc', 'b')": "b", "REGEXP_EXTRACT('abc', 'b', 1)": "NULL",
		"JSON_VALUE('{\"a\": {\"b\": [1, \"x\"]}}', '$.a.b[1]')": "x", "JSON_VALUE('{\"a\": {}}', '$.a')": "NULL", "JSON_VALUE('{\"a\": 1, \"a\": 2}', '$.a')": "2", "JSON_VALUE('{\"a b\": true}', '$.\"a b\"')": "true",
		"JSON_VALUE('{\"n\": 9007199254740993}', '$.n')":                         "9007199254740993",
		"TIMESTAMPDIFF('MONTH', TIMESTAMP '2024-01-31', TIMESTAMP '2024-02-29')": "0", "TIMESTAMPDIFF('MONTH', TIMESTAMP '2024-03-31', TIMESTAMP '2024-01-31')": "-2", "TIMESTAMPDIFF('DAY', TIMESTAMP '2024-01-02', TIMESTAMP '2024-01-01 12:00')": "0",
		"TIMESTAMPADD('DAY', -1, DATE '2024-03-01')": "2024-02-29 00:00:00", "LOWER('ÄÖ')": "äö", "TO_TIMESTAMP('2024-01-01T00:00:00.1239Z')": "2024-01-01 00:00:00.123", "UPPER('é日')": "É日",
		"1000::DECIMAL(38,18) * 2::DECIMAL(38,18)": "2000.000000000000000000", "1 / 3.0": "0.33333333333333333", "DAYOFWEEK(DATE '2024-03-03')": "1",
		"99999999999999999999 + 1": "100000000000000000000",
	} {
		if got := evalText(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestTypes checks the table of docs/design/0009-numbers-and-casts.md.
func TestTypes(t *testing.T) {
	for in, want := range map[string]string{
		"1": "INT", "3000000000": "BIGINT", "1.50": "DECIMAL(3,2)", "1e3": "DECIMAL(4,0)", "99999999999999999999": "DECIMAL(20,0)", "0.908": "DECIMAL(4,3)",
		"1 + 1": "INT", "1::SMALLINT + 1::SMALLINT": "SMALLINT", "1 + 1::BIGINT": "BIGINT", "1 / 2": "INT", "1 + 1.5": "DECIMAL(12,1)", "1.5 * 2.25": "DECIMAL(5,3)",
		"0.908 * 1::BIGINT": "DECIMAL(23,3)", "1::REAL + 1::REAL": "REAL", "1::REAL + 1": "DOUBLE", "1.5 + 1::DOUBLE": "DOUBLE", "1 % 2.5": "DECIMAL(2,1)",
		"1::BIGINT / 3.0": "DECIMAL(37,17)", "1::DECIMAL(38,18) / 1::DECIMAL(38,18)": "DECIMAL(38,18)", "1::DECIMAL(38,2) * 1::DECIMAL(38,2)": "DECIMAL(38,4)",
		"DATE '2024-01-01' + 1": "DATE", "DATE '2024-01-01' - DATE '2024-01-01'": "INT", "DATE '2024-01-01' + INTERVAL '1 day'": "TIMESTAMP(6)",
		"COALESCE(1, 2.5)": "DECIMAL(11,1)", "COALESCE(1::SMALLINT, 1::BIGINT)": "BIGINT", "COALESCE(NULL, 'a')": "VARCHAR", "CASE WHEN TRUE THEN DATE '2024-01-01' ELSE TIMESTAMP '2024-01-01' END": "TIMESTAMP(6)",
		"ROUND(1.234, 2)": "DECIMAL(4,2)", "ROUND(1.5)": "DECIMAL(2,0)", "CAST(1.5 AS DECIMAL)": "DECIMAL(2,1)", "CAST(1 AS DECIMAL)": "DECIMAL(10,0)", "CAST('1.25' AS DECIMAL)": "DECIMAL(3,2)", "CAST(1::DOUBLE AS DECIMAL)": "DECIMAL(38,18)",
	} {
		if got := mustBind(t, in, nil).Type.String(); got != want {
			t.Errorf("%s has type %s, want %s", in, got, want)
		}
	}
}

// TestAssign: what INSERT takes and what it refuses before the job runs.
func TestAssign(t *testing.T) {
	cols := types.Schema{{Name: "s", Type: types.TText}, {Name: "h", Type: types.TSmallInt}, {Name: "i", Type: types.TInt}, {Name: "j", Type: types.TBigInt},
		{Name: "d", Type: types.TDecimal(22, 3)}, {Name: "f", Type: types.TDouble}, {Name: "t", Type: types.TTimestamp(3)}, {Name: "z", Type: types.TTimestampTZ(3)},
		{Name: "a", Type: types.TDate}, {Name: "b", Type: types.TBool}}
	for _, c := range []struct {
		in   string
		to   types.Type
		want string
	}{
		{"s", types.TInt, "42804"}, {"j", types.TSmallInt, "42804"}, {"j", types.TInt, "42804"}, {"i", types.TSmallInt, "42804"}, {"t", types.TTimestampTZ(3), "42804"}, {"z", types.TTimestamp(3), "42804"},
		{"b", types.TInt, "42804"}, {"i", types.TBool, "42804"}, {"s", types.TDate, "42804"}, {"t", types.TInt, "42804"}, {"s", types.TJSON, "42804"}, {"s", types.TUUID, "42804"},
		{"h", types.TBigInt, ""}, {"j", types.TDecimal(38, 0), ""}, {"d", types.TDecimal(23, 3), ""}, {"d", types.TBigInt, ""}, {"f", types.TDecimal(10, 2), ""}, {"j", types.TDouble, ""}, {"i", types.TText, ""},
		{"a", types.TTimestamp(3), ""}, {"t", types.TDate, ""}, {"t", types.TTimestamp(0), ""}, {"s", types.Type{Kind: types.Text, Length: 3}, ""},
		{"1", types.TSmallInt, ""}, {"40000", types.TSmallInt, "42804"}, {"'7'", types.TInt, ""}, {"'x'", types.TInt, "22P02"}, {"NULL", types.TDate, ""}, {"'2024-01-01'", types.TTimestampTZ(3), ""}, {"'abcd'", types.Type{Kind: types.Text, Length: 3}, "22001"},
	} {
		e, err := expr.AssignTo(mustBind(t, c.in, cols), c.to, "target")
		code := ""
		if err != nil {
			code = sqlerr.CodeOf(err)
		} else if e.Type != c.to {
			t.Errorf("%s into %s has type %s", c.in, c.to, e.Type)
		}
		if code != c.want {
			t.Errorf("%s into %s: %v, want %q", c.in, c.to, err, c.want)
		}
		if c.want == "42804" && (!strings.Contains(err.Error(), `"target"`) || !strings.Contains(err.Error(), c.to.String())) {
			t.Errorf("%s into %s: the error does not name column and type: %v", c.in, c.to, err)
		}
	}
}

func TestHints(t *testing.T) {
	_, err := bind("substrng('a', 1)", nil)
	if e := sqlerr.As(err); e == nil || e.Hint != `did you mean "substring"?` || e.Pos != 1 {
		t.Errorf("%+v", err)
	}
}
