package vec_test

import (
	"testing"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var parseCases = []struct {
	t    types.Type
	in   string
	want string // text of the value, or the SQLSTATE after "!"
}{
	{types.TInt, " 42", "42"},
	{types.TInt, "", "!22P02"},
	{types.TInt, "1e3", "!22P02"},
	{types.TInt, "x", "!22P02"},
	{types.TInt, "3000000000", "!22003"},
	{types.TBigInt, "-9223372036854775808", "-9223372036854775808"},
	{types.TBigInt, "9223372036854775808", "!22003"},
	{types.TBigInt, "99999999999999999999999", "!22003"},
	{types.TDecimal(38, 3), "99999999999999999999999999999999999.999", "99999999999999999999999999999999999.999"},
	{types.TDecimal(38, 3), "99999999999999999999999999999999999.9995", "!22003"},
	{types.TDecimal(5, 2), "1.005", "1.01"},
	{types.TDecimal(5, 2), "-1.005", "-1.01"},
	{types.TDecimal(5, 2), "1.5e2", "150.00"},
	{types.TDecimal(5, 2), "0.004", "0.00"},
	{types.TDecimal(5, 2), ".005", "0.01"},
	{types.TDecimal(5, 2), "1000", "!22003"},
	{types.TDecimal(5, 2), "1.2.3", "!22P02"},
	{types.TDecimal(0, 0), "1.500", "1.500"},
	{types.TDecimal(0, 0), "1e-3", "0.001"},
	{types.TDouble, "1e20", "1e+20"},
	{types.TDouble, "1e14", "100000000000000"},
	{types.TDouble, "1e15", "1e+15"},
	{types.TDouble, "0.0001", "0.0001"},
	{types.TDouble, "0.00001", "1e-05"},
	{types.TDouble, "0.1", "0.1"},
	{types.TDouble, "-inf", "-Infinity"},
	{types.TDouble, "nan", "NaN"},
	{types.TDouble, "1e400", "!22003"},
	{types.TDouble, "1e-400", "!22003"},
	{types.TDouble, "0e400", "0"},
	{types.TReal, "16777217", "1.6777216e+07"},
	{types.TReal, "0.1", "0.1"},
	{types.TBool, " YES ", "t"},
	{types.TBool, "of", "f"},
	{types.TBool, "o", "!22P02"},
	{types.TBool, "2", "!22P02"},
	{types.TDate, "1969-12-31", "1969-12-31"},
	{types.TDate, "20240229", "2024-02-29"},
	{types.TDate, "2023-02-29", "!22008"},
	{types.TDate, "0044-03-15 BC", "0044-03-15 BC"},
	{types.TDate, "today", "!22007"},
	{types.TTime, "04:05", "04:05:00"},
	{types.TTime, "24:00:00", "24:00:00"},
	{types.TTime, "25:00", "!22008"},
	{types.TTimestamp(6), "2024-01-01", "2024-01-01 00:00:00"},
	{types.TTimestamp(3), "2024-01-01T00:00:00.123999", "2024-01-01 00:00:00.123"},
	{types.TTimestamp(6), "2024-01-01 00:00:00.120", "2024-01-01 00:00:00.12"},
	{types.TTimestamp(3), "1969-12-31 23:59:59.9999", "1969-12-31 23:59:59.999"},
	{types.TTimestamp(6), "0001-01-01 00:00:00", "0001-01-01 00:00:00"},
	{types.TTimestamp(6), "2024-06-30 23:59:60", "2024-07-01 00:00:00"},
	{types.TTimestamp(6), "2024-02-30 00:00:00", "!22008"},
	{types.TTimestamp(6), "hello", "!22007"},
	{types.TTimestamp(6), "2024-01-01T", "!22007"},
	{types.TTimestamp(6), "2024-01-01 10:00 Europe/Berlin", "!22007"},
	{types.TTimestampTZ(6), "2024-01-01T12:00+02:00", "2024-01-01 10:00:00+00"},
	{types.TTimestampTZ(6), "2024-01-01T12:00:00+0200", "2024-01-01 10:00:00+00"},
	{types.TTimestampTZ(6), "2024-01-01 12:00:00+02", "2024-01-01 10:00:00+00"},
	{types.TTimestampTZ(6), "2024-01-01T12:00Z", "2024-01-01 12:00:00+00"},
	{types.TTimestampTZ(6), "2024-01-01 12:00:00.5 -05:30", "2024-01-01 17:30:00.5+00"},
	{types.TTimestampTZ(6), "20240101T120000Z", "2024-01-01 12:00:00+00"},
	{types.TTimestamp(6), "2024-01-01T12:00+02:00", "2024-01-01 10:00:00"},
	{types.TTimestamp(6), "2024-01-01 12:00:00+20", "!22008"},
	{types.TInterval, "1 year 2 months 3 days 04:05:06.789", "1 year 2 mons 3 days 04:05:06.789"},
	{types.TInterval, "5 seconds", "00:00:05"},
	{types.TInterval, "1-2", "1 year 2 mons"},
	{types.TInterval, "-1 day +02:03", "-1 days +02:03:00"},
	{types.TInterval, "1 day ago", "-1 days"},
	{types.TInterval, "1.5 months", "1 mon 15 days"},
	{types.TInterval, "P1Y2M3DT4H5M6S", "1 year 2 mons 3 days 04:05:06"},
	{types.TInterval, "100 hours", "100:00:00"},
	{types.TInterval, "-00:00:01", "-00:00:01"},
	{types.TInterval, "1 parsec", "!22007"},
	{types.TInterval, "", "!22007"},
	{types.TBytes, `\x00ff`, `\x00ff`},
	{types.TBytes, `a\\b\001`, `\x615c6201`},
	{types.TBytes, `\x0`, "!22P02"},
	{types.TUUID, "{A0EEBC99-9C0B4EF8BB6D6BB9BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
	{types.TUUID, "a0eebc99", "!22P02"},
	{types.TText, "日本", "日本"},
	{types.TText, "a\x00b", "!22021"},
	{types.TText, "a\xffb", "!22021"},
	{types.Type{Kind: types.Text, Length: 2}, "日本", "日本"},
	{types.Type{Kind: types.Text, Length: 2}, "abc", "!22001"},
	{types.TJSON, `{"a": [1, 2]}`, `{"a": [1, 2]}`},
	{types.TJSON, `{"a": 01}`, "!22P02"},
}

func TestParseText(t *testing.T) {
	for _, c := range parseCases {
		got := ""
		x, err := vec.ParseText(c.t, []byte(c.in))
		if err != nil {
			got = "!" + sqlerr.CodeOf(err)
		} else {
			got = string(vec.AppendValueText(nil, x))
			v := vec.New(x.Type, 1)
			v.AppendValue(x)
			if s := string(vec.AppendText(nil, v, 0)); s != got {
				t.Errorf("%s %q: column prints %q, value %q", c.t, c.in, s, got)
			}
		}
		if got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.t, c.in, got, c.want)
		}
	}
}

func TestCivilRoundTrip(t *testing.T) {
	for d := int64(-2_500_000); d < 3_000_000; d += 17 {
		y, m, day := vec.CivilFromDays(d)
		if got := vec.DaysFromCivil(y, m, day); got != d || day > vec.DaysInMonth(y, m) {
			t.Fatalf("day %d: %d-%d-%d gives %d", d, y, m, day, got)
		}
	}
}

func TestParsersDoNotAllocate(t *testing.T) {
	ts, num, dec, flt := []byte("2024-01-01T12:00:00.123+02:00"), []byte("-12345"), []byte("12345678901234567890.5"), []byte("1.25")
	n := testing.AllocsPerRun(100, func() {
		vec.ParseTimestamp(ts)
		vec.ParseInt64(num)
		vec.ParseDecimal(dec, 38, 3)
		vec.ParseFloat(flt, 64)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
