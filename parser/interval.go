package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// unit is a field of an interval, from small to large.
type unit uint8

const (
	noUnit unit = iota
	microsecond
	millisecond
	second
	minute
	hour
	day
	week
	month
	quarter
	year
	decade
	century
	millennium
)

var unitNames = map[string]unit{
	"us": microsecond, "usec": microsecond, "usecs": microsecond, "microsecond": microsecond, "microseconds": microsecond,
	"ms": millisecond, "msec": millisecond, "msecs": millisecond, "millisecond": millisecond, "milliseconds": millisecond,
	"s": second, "sec": second, "secs": second, "second": second, "seconds": second,
	"m": minute, "min": minute, "mins": minute, "minute": minute, "minutes": minute,
	"h": hour, "hr": hour, "hrs": hour, "hour": hour, "hours": hour,
	"d": day, "day": day, "days": day,
	"w": week, "week": week, "weeks": week,
	"mon": month, "mons": month, "month": month, "months": month,
	"qtr": quarter, "quarter": quarter, "quarters": quarter,
	"y": year, "yr": year, "yrs": year, "year": year, "years": year,
	"dec": decade, "decs": decade, "decade": decade, "decades": decade,
	"c": century, "cent": century, "century": century, "centuries": century,
	"mil": millennium, "mils": millennium, "millennium": millennium, "millennia": millennium,
}

// qualifierWords are the units that may follow the string of an interval literal.
var qualifierWords = func() map[string]unit {
	m := map[string]unit{}
	for _, w := range strings.Fields("microsecond millisecond second minute hour day week month quarter year") {
		m[strings.ToUpper(w)] = unitNames[w]
		m[strings.ToUpper(w)+"S"] = unitNames[w]
	}
	return m
}()

// unitWords maps the units of TIMESTAMPADD and its kin to their canonical spelling.
var unitWords = func() map[string]string {
	m := map[string]string{}
	for w, u := range qualifierWords {
		name := strings.TrimSuffix(w, "S")
		m[w] = name
		if u != microsecond && u != millisecond {
			m["SQL_TSI_"+name] = name
		}
	}
	for _, w := range strings.Fields("DECADE CENTURY MILLENNIUM") {
		m[w] = w
	}
	return m
}()

const (
	usecSecond = int64(1e6)
	usecMinute = 60 * usecSecond
	usecHour   = 60 * usecMinute
	usecDay    = 24 * usecHour
)

// intervalLiteral reads INTERVAL 'text' [unit [TO unit]] with the cursor on
// INTERVAL; ok is false, and nothing is read, when no string follows.
func (p *parser) intervalLiteral() (v types.IntervalValue, ok bool, err error) {
	lo := p.i
	prec := -1
	n := 1
	if p.peekOp(1, "(") && p.peek(2).kind == tNumber && p.peekOp(3, ")") {
		n = 4
	}
	if p.peek(n).kind != tString {
		return v, false, nil
	}
	p.i++
	if n == 4 {
		if prec, _, err = p.typeParam(6, 0); err != nil {
			return v, false, err
		}
	}
	text, at := p.cur().val, p.pos(p.i)
	p.i++
	high, low, err := p.intervalQualifier(&prec)
	if err != nil {
		return v, false, err
	}
	v, bad := readInterval(text, high, low)
	if bad == "" && prec >= 0 {
		v.Micros = roundMicros(v.Micros, prec)
	}
	switch bad {
	case "":
		return v, true, nil
	case outOfRange:
		return v, false, sqlerr.New(sqlerr.CodeIntervalOverflow, at, `interval field value out of range: "%s"`, text)
	}
	e := sqlerr.New(sqlerr.CodeDatetimeFormat, at, `invalid input syntax for type interval: "%s"`, text)
	if p.i == lo+2 {
		e.Hint = "Write INTERVAL '5' SECOND or INTERVAL '5 seconds'."
	}
	return v, false, e
}

// intervalQualifier reads [unit [TO unit]] [(p)].
func (p *parser) intervalQualifier(prec *int) (high, low unit, err error) {
	u, ok := qualifierWords[p.cur().up]
	if !ok || p.cur().kind != tWord {
		return noUnit, noUnit, nil
	}
	p.i++
	high, low = u, u
	if p.isWord("TO") {
		p.i++
		l, ok := qualifierWords[p.cur().up]
		yearMonth := u == year && l == month
		dayTime := (u == day || u == hour || u == minute) && l < u && l >= second
		if !ok || !yearMonth && !dayTime {
			return 0, 0, p.unexpected().expecting("YEAR TO MONTH, DAY TO SECOND or a part of them")
		}
		p.i++
		low = l
	}
	if low == second && p.isOp("(") {
		if *prec, _, err = p.typeParam(6, 0); err != nil {
			return 0, 0, err
		}
	}
	return high, low, nil
}

func roundMicros(us int64, prec int) int64 {
	step := types.TTimestamp(prec).Tick()
	half := step / 2
	if us < 0 {
		half = -half
	}
	return (us + half) / step * step
}
