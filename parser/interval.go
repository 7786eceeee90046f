package parser

import (
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
)

// qualifierWords are the units that may follow the string of an interval literal.
var qualifierWords = func() map[string]types.Unit {
	m := map[string]types.Unit{}
	for _, w := range strings.Fields("microsecond millisecond second minute hour day week month quarter year") {
		u, _ := types.UnitNamed(w)
		m[strings.ToUpper(w)], m[strings.ToUpper(w)+"S"] = u, u
	}
	return m
}()

// unitWords maps the units of TIMESTAMPADD and its kin to their canonical spelling.
var unitWords = func() map[string]string {
	m := map[string]string{}
	for w, u := range qualifierWords {
		name := strings.TrimSuffix(w, "S")
		m[w] = name
		if u != types.Microsecond && u != types.Millisecond {
			m["SQL_TSI_"+name] = name
		}
	}
	for _, w := range strings.Fields("DECADE CENTURY MILLENNIUM") {
		m[w] = w
	}
	return m
}()

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
	v, err = types.ParseInterval(text, high, low)
	switch err {
	case nil:
		if prec >= 0 {
			v.Micros = roundMicros(v.Micros, prec)
		}
		return v, true, nil
	case types.ErrIntervalRange:
		return v, false, sqlerr.New(sqlerr.CodeIntervalOverflow, at, "%v: \"%s\"", err, text)
	}
	e := sqlerr.New(sqlerr.CodeDatetimeFormat, at, "%v: \"%s\"", err, text)
	if p.i == lo+2 {
		e.Hint = "Write INTERVAL '5' SECOND or INTERVAL '5 seconds'."
	}
	return v, false, e
}

// intervalQualifier reads [unit [TO unit]] [(p)].
func (p *parser) intervalQualifier(prec *int) (high, low types.Unit, err error) {
	u, ok := qualifierWords[p.cur().up]
	if !ok || p.cur().kind != tWord {
		return types.NoUnit, types.NoUnit, nil
	}
	p.i++
	high, low = u, u
	if p.isWord("TO") {
		p.i++
		l, ok := qualifierWords[p.cur().up]
		yearMonth := u == types.Year && l == types.Month
		dayTime := (u == types.Day || u == types.Hour || u == types.Minute) && l < u && l >= types.Second
		if !ok || !yearMonth && !dayTime {
			return 0, 0, p.unexpected().expecting("YEAR TO MONTH, DAY TO SECOND or a part of them")
		}
		p.i++
		low = l
	}
	if low == types.Second && p.isOp("(") {
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
