package planner

import (
	"strconv"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/planner/explain"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// defaultIdleTimeout is what holds without settings: one minute, in microseconds.
const defaultIdleTimeout = 60_000_000

// scanTables checks the options of every scanned table.
func (b *builder) scanTables() error {
	for _, n := range b.order {
		s, ok := n.(*logical.Scan)
		if !ok || b.tables[s.Table.Def.Name] != nil {
			continue
		}
		t, err := resolveTable(s.Table.Def, b.opts)
		if err != nil {
			return err
		}
		if !t.caps.CanRead {
			return sqlerr.New("42809", s.Pos, "table %q cannot be read: connector %q with these options only writes", t.def.Name, t.conn.Name)
		}
		b.tables[t.def.Name] = t
	}
	return nil
}

// source plans a scan.
func (b *builder) source(s *logical.Scan) (*phys, error) {
	t := b.tables[s.Table.Def.Name]
	src := &plan.Source{
		Table: t.def.Name, Connector: t.conn.Name, Options: t.options, Format: t.format,
		TimeColumn: -1, Bounded: t.caps.Bounded, Pos: s.Pos,
		OnError: b.onError([]*table{t}), LateRows: t.common["late.rows"],
	}
	if t.format == "csv" {
		var err error
		if src.Options, err = withCSVColumns(t.options, s.Table); err != nil {
			return nil, err
		}
	}
	place := scanColumns(s, src)
	if s.Timed {
		src.IdleTimeout = b.idleTimeout(t)
	}
	node := &plan.Node{Schema: logical.Schema(s), Time: logical.TimeColumn(s), Source: src, OnError: src.OnError}
	switch {
	case t.parallelism() > 0:
		node.Parallelism = t.parallelism()
	case t.caps.Splits == 1:
		node.Parallelism = 1
	}
	p := b.add(node)
	p.sources = []*table{t}
	p.Deterministic = t.caps.Replayable && src.IdleTimeout == 0
	p.ordered = t.caps.Splits == 1
	p.Key = sourceKey(s, place)
	if src.IdleTimeout > 0 {
		b.notice("table " + strconv.Quote(t.def.Name) + ": a split without rows for " + explain.Duration(src.IdleTimeout) +
			" no longer holds time back, so which of its rows are late depends on the clock")
	}
	return p, nil
}

// sourceKey gives the PRIMARY KEY in the scan's output, nil when part of it is not read.
func sourceKey(s *logical.Scan, place []int) []int {
	if len(s.Table.Key) == 0 {
		return nil
	}
	var out []int
	for _, k := range s.Table.Key {
		at := -1
		for i, o := range s.Output {
			if o == k {
				at = i
			}
		}
		if at < 0 {
			return nil
		}
		out = append(out, at)
	}
	return out
}

// scanColumns fills in the columns that the scan reads and computes, and gives for each
// place of the table's column space the place in the scan's, -1 for what is not read.
func scanColumns(s *logical.Scan, src *plan.Source) []int {
	t := s.Table
	need := make([]bool, len(t.Read)+len(t.Virtual))
	var want func(cols []int)
	want = func(cols []int) {
		for _, c := range cols {
			if need[c] {
				continue
			}
			need[c] = true
			if v := c - len(t.Read); v >= 0 {
				want(t.Virtual[v].Columns())
			}
		}
	}
	want(s.Output)
	if s.Predicate != nil {
		want(s.Predicate.Columns())
	}
	if s.Timed {
		want([]int{t.Time})
		want(t.Watermark.Columns())
	}
	place := make([]int, len(need))
	to := func(c int) int { return place[c] }
	for i, c := range t.Read {
		place[i] = -1
		if need[i] {
			place[i] = len(src.Read)
			src.Read = append(src.Read, c)
		}
	}
	for i, v := range t.Virtual {
		c := len(t.Read) + i
		place[c] = -1
		if need[c] {
			place[c] = len(src.Read) + len(src.Virtual)
			src.Virtual = append(src.Virtual, v.Map(to))
		}
	}
	for _, o := range s.Output {
		src.Output = append(src.Output, place[o])
	}
	if s.Predicate != nil {
		src.Predicate = s.Predicate.Map(to)
	}
	if s.Timed {
		src.TimeColumn, src.Watermark = place[t.Time], t.Watermark.Map(to)
	}
	return place
}

// idleTimeout is what the table says, else what SET says when something could wait for a
// silent split: a table of several splits, or a job of several timed inputs. A bounded
// table ends and never idles.
func (b *builder) idleTimeout(t *table) int64 {
	if us, ok := t.idleTimeout(); ok {
		return us
	}
	if t.caps.Bounded {
		return 0
	}
	timed := 0
	for _, n := range b.order {
		if s, ok := n.(*logical.Scan); ok && s.Timed {
			timed++
		}
	}
	if t.caps.Splits == 1 && timed <= 1 {
		return 0
	}
	if d, err := types.ParseDuration(b.opts.Settings["watermark.idle-timeout"]); err == nil {
		return d.Microseconds()
	}
	return defaultIdleTimeout
}

// onError is the policy for rows made from these tables: what they agree on, else the
// job's.
func (b *builder) onError(tables []*table) string {
	job := b.opts.Settings["on.error"]
	if job == "" {
		job = "fail"
	}
	policy := ""
	for _, t := range tables {
		own := t.common["on.error"]
		if own == "" {
			own = job
		}
		if policy != "" && policy != own {
			return job
		}
		policy = own
	}
	if policy == "" {
		return job
	}
	return policy
}
