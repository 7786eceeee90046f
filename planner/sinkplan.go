package planner

import (
	"strconv"
	"strings"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/planner/logical"
	"github.com/streamsql/streamsql/planner/plan"
)

// sinkInfo is a planned sink and what the guarantee depends on.
type sinkInfo struct {
	node    *phys
	logical *logical.Sink
	// input is the producer that the sink's rows come from.
	input *phys
	// final: an early write is sure to be written again by replay.
	final bool
	why   string // why early writing is or is not sure
}

// sink plans a root.
func (b *builder) sink(s *logical.Sink) error {
	in, err := b.node(s.Input)
	if err != nil {
		return err
	}
	if err := takesUpdates(s, in); err != nil {
		return err
	}
	b.keyNotices(s, in)
	for _, other := range b.sinks {
		if other.logical.Table == s.Table && len(s.Key) > 0 {
			b.orderSensitive("table " + strconv.Quote(s.Table) + " is written by several statements: which of their rows for one key shows")
		}
	}
	info := &sinkInfo{logical: s, input: in}
	info.final, info.why = replaySure(s, in)
	node := &plan.Node{
		Schema: s.Target, Time: -1,
		Sink: &plan.Sink{
			Table: s.Table, Connector: s.Connector, Options: s.Options, Format: s.Format,
			Columns: s.Target, Declared: s.Declared, Key: s.Key, Mode: sinkMode(s, info.final), OnError: s.OnError, Pos: s.Pos,
		},
	}
	if node.Sink.OnError == "" {
		node.Sink.OnError = b.onError(nil)
	}
	node.OnError = node.Sink.OnError
	if keyed := len(s.Key) > 0 && s.Caps.Upserts; keyed {
		from := in
		node.Inputs = []plan.Edge{{From: in.ID, Exchange: plan.Hash, Keys: s.Key}}
		if in.updating && !subset(in.Key, s.Key) {
			from = b.materialize(s, in)
			node.Inputs = forward(from)
		} else if in.updating && len(in.Key) != len(s.Key) {
			in.needsOld = true
		}
		node.Parallelism = s.Parallelism
		info.node = b.add(node, from)
	} else {
		b.plainSink(s, in, node)
		info.node = b.add(node, in)
	}
	info.node.Key = s.Key
	b.sinks = append(b.sinks, info)
	return nil
}

// plainSink connects a sink that has no key: it takes rows as they come.
func (b *builder) plainSink(s *logical.Sink, in *phys, node *plan.Node) {
	if in.updating {
		b.orderSensitive("sink " + strconv.Quote(s.Table) + ": which changes are shown on the way to the last state of a row")
	}
	in.needsOld = in.needsOld || in.updating
	node.Inputs, node.Parallelism = forward(in), in.Parallelism
	switch {
	case s.Parallelism == in.Parallelism && s.Parallelism > 0:
	case s.Parallelism == 1:
		node.Inputs[0].Exchange, node.Parallelism = plan.Gather, 1
	case s.Parallelism > 1:
		node.Inputs[0].Exchange, node.Parallelism = plan.Spread, s.Parallelism
		b.orderSensitive("sink " + strconv.Quote(s.Table) + ": the order of the rows, since option \"parallelism\" deals them out to the writers")
	}
}

// materialize puts the keeper of live rows before a sink whose key does not tell the
// rows of the changelog apart.
func (b *builder) materialize(s *logical.Sink, in *phys) *phys {
	in.needsOld = true
	m := b.add(&plan.Node{
		Inputs: []plan.Edge{{From: in.ID, Exchange: plan.Hash, Keys: s.Key}}, Schema: in.Schema, Parallelism: s.Parallelism,
		Time: -1, Key: s.Key, Materialize: &plan.Materialize{Key: s.Key},
	}, in)
	b.orderSensitive("sink " + strconv.Quote(s.Table) + ": which row of a key shows, the newest, since its key (" +
		columnNames(s.Target, s.Key) + ") does not contain the key of the rows")
	return m
}

// subset reports that key is known and lies within of.
func subset(key, of []int) bool {
	if key == nil {
		return false
	}
	for _, k := range key {
		found := false
		for _, o := range of {
			found = found || o == k
		}
		if !found {
			return false
		}
	}
	return true
}

// replaySure judges whether what is written before a checkpoint is sure to be written
// again by replay: the rows are insert-only, keyed by the sink's key, and replay gives
// the same ones.
func replaySure(s *logical.Sink, in *phys) (bool, string) {
	switch {
	case in.updating:
		return false, updatesText(in.cause)
	case !in.Deterministic:
		return false, "replay may give other rows: " + notRepeatable(in)
	case len(s.Key) == 0:
		return false, "the table has no PRIMARY KEY"
	case !subset(in.Key, s.Key):
		return false, "several rows may have one key (" + columnNames(s.Target, s.Key) + ")"
	case !s.Caps.Idempotent:
		return false, "the connector cannot write a row twice without a trace"
	}
	return true, "the rows are insert-only, one for a key, and replay gives the same"
}

func notRepeatable(in *phys) string {
	if in.stamped {
		return "NOW() and PROCTIME() are the moment at which a row comes"
	}
	for _, t := range in.sources {
		if !t.caps.Replayable {
			return "table " + strconv.Quote(t.def.Name) + " cannot be read again from a position"
		}
	}
	for _, t := range in.sources {
		if us, _ := t.idleTimeout(); us > 0 || t.caps.Splits != 1 || len(in.sources) > 1 {
			return "the idle timeout of table " + strconv.Quote(t.def.Name) + " makes lateness depend on the clock"
		}
	}
	return "lateness depends on the clock"
}

func sinkMode(s *logical.Sink, final bool) plan.SinkMode {
	switch {
	case s.Caps.ForceCommit:
		return plan.Commit
	case s.Caps.ForceEarly, s.Caps.Transient:
		return plan.Early
	case s.Caps.Early && final:
		return plan.Early
	case s.Caps.Commit:
		return plan.Commit
	}
	return plan.Early
}

// takesUpdates refuses a changing input for a sink that cannot show changes.
func takesUpdates(s *logical.Sink, in *phys) error {
	if !in.updating || s.Caps.Changelog || s.Caps.Upserts && len(s.Key) > 0 {
		return nil
	}
	e := sqlerr.New(sqlerr.CodeSinkChangelog, in.cause.Pos, "sink %q (%s) takes only inserts, but the query changes rows that it gave before", s.Table, s.Connector).
		WithDetail("%s", sentence(updatesText(in.cause)))
	help := "Group by a window (TUMBLE or HOP), whose rows are final"
	if len(s.Key) == 0 {
		key := "…"
		if len(in.Key) > 0 {
			key = columnNames(s.Target, in.Key)
		}
		help += ", or write to a table with PRIMARY KEY (" + key + ") on a connector that can update rows, such as postgres"
	} else {
		help += ", or write to a connector that can update rows, such as postgres"
	}
	return e.WithHint("%s.", help)
}

// updatesText says what in the query changes rows, as part of a sentence.
func updatesText(g *logical.GroupAgg) string {
	switch g.Clause {
	case logical.ClauseGroupBy:
		return "the GROUP BY updates the row of a group with every row that joins it"
	case logical.ClauseDistinct:
		return "the SELECT DISTINCT takes a row back when its last copy goes"
	}
	return "an aggregate without GROUP BY updates its one row with every row that comes"
}

// sentence makes a sentence of text.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// keyNotices warns of NULLs in the sink's key and of an order that replay may not
// repeat.
func (b *builder) keyNotices(s *logical.Sink, in *phys) {
	if !s.Caps.Upserts {
		return
	}
	for _, k := range s.Key {
		if !in.Schema[k].NotNull {
			b.notice("sink " + strconv.Quote(s.Table) + ": column " + strconv.Quote(s.Target[k].Name) +
				" of its PRIMARY KEY may be NULL in the query; a row with NULL there follows on.error")
		}
	}
	if len(s.Key) > 0 && !in.updating && !subset(in.Key, s.Key) && !in.ordered {
		b.orderSensitive("sink " + strconv.Quote(s.Table) + ": which row of a key shows, the newest, since rows of one key may come from several splits")
	}
}

// columnNames lists columns by name.
func columnNames(schema interface{ Names() []string }, cols []int) string {
	names := schema.Names()
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = names[c]
	}
	return strings.Join(out, ", ")
}
