package expr

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // where the machine has no IANA database

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// timeZone is AT TIME ZONE, with the zone first as PostgreSQL's function has it.
func timeZone() Func {
	return Func{
		Name: "timezone", Strict: true, Volatility: Stable,
		Doc:     "AT TIME ZONE: a TIMESTAMP read as the local time of a zone, or a TIMESTAMP WITH TIME ZONE as that zone's local time. Zones are names of the IANA database.",
		Example: "TIMEZONE('Europe/Berlin', TIMESTAMP '2024-07-01 12:00')", ExampleResult: "2024-07-01 10:00:00+00",
		check: checkText(0, sqlerr.CodeInvalidParameter, func(zone string) error {
			if loadZone(zone) == nil {
				return errZone(zone)
			}
			return nil
		}),
		PG: "TIMESTAMP '2024-07-01 12:00' AT TIME ZONE 'Europe/Berlin'",
		Sigs: []Sig{
			{Args: []types.Kind{kText, kTS}, kernel: zoneKernel(fromLocal),
				ret: func(ts []types.Type) types.Type { return types.TTimestampTZ(int(ts[1].Precision)) }},
			{Args: []types.Kind{kText, kTSTZ}, kernel: zoneKernel(toLocal),
				ret: func(ts []types.Type) types.Type { return types.TTimestamp(int(ts[1].Precision)) }},
		},
	}
}

// loadZone gives a zone of the IANA database by its name, nil where there is none.
func loadZone(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	if strings.EqualFold(name, "UTC") {
		return time.UTC
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return loc
}

func errZone(name string) error { return fmt.Errorf("time zone \"%s\" not recognized", name) }

// zoneOffset is the offset of loc east of UTC at t, in microseconds.
func zoneOffset(loc *time.Location, t int64) int64 {
	_, s := time.UnixMicro(t).In(loc).Zone()
	return int64(s) * second
}

func toLocal(loc *time.Location, t int64) int64 { return t + zoneOffset(loc, t) }

// fromLocal reads t as local time. In the hour that summer time skips the offset
// before it counts, in the hour that occurs twice the one after it, as in PostgreSQL.
func fromLocal(loc *time.Location, t int64) int64 {
	before, after := zoneOffset(loc, t-day), zoneOffset(loc, t+day)
	u, w := t-before, t-after
	okU, okW := zoneOffset(loc, u) == before, zoneOffset(loc, w) == after
	switch {
	case okU && !okW:
		return u
	case okW && !okU:
		return w
	}
	return max(u, w)
}

func zoneKernel(convert func(*time.Location, int64) int64) func([]Arg, types.Type) impl {
	return func(args []Arg, _ types.Type) impl {
		var loc *time.Location
		var name string
		load := func(s string) bool {
			if loc != nil && s == name {
				return true
			}
			name, loc = s, loadZone(s)
			return loc != nil
		}
		raises := args[0].Const == nil || !load(args[0].Const.S)
		return impl{run: rowInt(func(k *kctx, a []*vec.Vector, i int, out *vec.Vector) (int64, bool) {
			if s := a[0].Bytes(i); (loc == nil || string(s) != name) && !load(string(s)) {
				k.fail(out, i, sqlerr.CodeInvalidParameter, errZone(string(s)).Error())
				return 0, false
			}
			return convert(loc, a[1].I64[i]), true
		}), raises: raises, cost: 60}
	}
}
