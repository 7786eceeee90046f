package runtime

import (
	"context"
	"slices"
	"strings"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/expr"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
	"github.com/streamsql/streamsql/operators"
	"github.com/streamsql/streamsql/planner/plan"
)

// build makes the tasks of the plan, with the state of m when it is not nil.
func (a *attempt) build(ctx context.Context, m *checkpoint.Manifest) error {
	a.restored = m
	a.byID = map[checkpoint.TaskID]*task{}
	of := map[*stage][]*task{}
	for _, st := range a.graph.stages {
		for s := range st.par {
			t, err := a.newTask(ctx, st, s)
			if err != nil {
				return err
			}
			of[st] = append(of[st], t)
		}
	}
	for _, st := range a.graph.stages {
		for s, t := range of[st] {
			a.connect(t, s, of)
		}
	}
	if m != nil {
		type place struct {
			n *chainNode
			t *task
		}
		var places []place
		for _, t := range a.tasks {
			for _, n := range t.chain.nodes {
				places = append(places, place{n, t})
			}
		}
		if err := a.exec.each(len(places), func(i int) error { return a.restoreNode(ctx, places[i].n, places[i].t, m) }); err != nil {
			return err
		}
		for _, t := range a.tasks {
			if t.chain.nodes[0].op != nil {
				t.mergedWM = t.chain.nodes[0].inWM
			}
		}
		a.restoreCounts(m)
	}
	return a.openSplits(ctx, m)
}

// discardTasks forgets what build made.
func (a *attempt) discardTasks() {
	a.tasks, a.actors, a.sources, a.readers, a.byID, a.restored = nil, nil, nil, nil, nil, nil
}

// newTask makes one subtask of a stage.
func (a *attempt) newTask(ctx context.Context, st *stage, subtask int) (*task, error) {
	head := st.nodes[0]
	var t *task
	var act actor
	switch {
	case head.Source != nil || head.Values != nil:
		x := &sourceTask{src: scanOf(head)}
		a.sources = append(a.sources, x)
		t, act = &x.task, x
	case head.Sink != nil:
		x := &sinkTask{table: head.Sink}
		x.task.sink = x
		t, act = &x.task, x
	default:
		t = &task{}
		act = t
	}
	t.id, t.par, t.run, t.wake = checkpoint.TaskID{Node: head.ID, Subtask: subtask}, st.par, a, newWaker()
	t.groups = stream.RangeOf(subtask, st.par, max(a.graph.plan.KeyGroups, 1))
	t.last, t.mergedWM = a.next-1, types.MinTime
	t.clocked = a.graph.timed[head.ID] && head.Stamp == nil
	if x, ok := act.(*sinkTask); ok {
		if err := a.openWriter(ctx, x, subtask); err != nil {
			return nil, err
		}
	}
	a.actors = append(a.actors, act)
	t.box = newMailbox(t.wake)
	a.tasks = append(a.tasks, t)
	a.byID[t.id] = t
	for _, n := range st.nodes {
		cn := &chainNode{chain: &t.chain, plan: n, inWM: types.MinTime, sendWM: types.MinTime, sentWM: types.MinTime, count: &counters{}}
		cn.count.wm.Store(types.MinTime)
		t.chain.nodes = append(t.chain.nodes, cn)
		if err := a.newOperator(t, cn); err != nil {
			return nil, err
		}
		cn.start = cn.op != nil
	}
	return t, nil
}

func (a *attempt) openWriter(ctx context.Context, x *sinkTask, subtask int) error {
	if x.table.Mode != plan.Early {
		return nil
	}
	for _, s := range a.sinks {
		if s.node != x.id.Node {
			continue
		}
		w, err := s.target.OpenWriter(ctx, connectors.WriterContext{Job: a.job, Attempt: a.n, Subtask: subtask,
			Refused: x.refused, Stalled: x.stalled.set})
		if err != nil {
			return at(x.table.Pos, err)
		}
		a.closers = append(a.closers, w.Close)
		x.writer = w
	}
	return nil
}

// newOperator makes the operator of a chain node; a source's head has none.
func (a *attempt) newOperator(t *task, cn *chainNode) error {
	n := cn.plan
	switch {
	case n.Source != nil || n.Values != nil:
		return nil
	case n.Sink != nil:
		cn.op = t.sink
		return nil
	}
	inputs := make([]types.Schema, len(n.Inputs))
	for i, e := range n.Inputs {
		inputs[i] = schemaOf(a.graph.plan, e)
	}
	cn.inputs = inputs
	cn.from = strings.Join(a.graph.plan.TablesOf(n), ", ")
	if n.Stamp != nil {
		cn.op = newStamper(n.Stamp, a.cfg.Clock.Now)
		if cn.clock() != nil {
			t.clocks = append(t.clocks, cn)
		}
		return nil
	}
	op, err := operators.Build(n, operators.Context{Inputs: inputs, BatchRows: a.cfg.BatchRows, Owned: t.groups,
		KeyGroups:  max(a.graph.plan.KeyGroups, 1),
		Errors:     func(b *vec.Batch, e expr.RowError) error { return cn.rowFailed(b, e) },
		Late:       func(b *vec.Batch, rows []int32) error { cn.rowsLate(b, rows); return nil },
		PartlyLate: func(rows int) { cn.count.partly.Add(int64(rows)) },
	})
	cn.op = op
	return err
}

// connect joins a task's nodes to each other and to their consumers.
func (a *attempt) connect(t *task, subtask int, of map[*stage][]*task) {
	at := map[int]*chainNode{}
	for _, n := range t.chain.nodes {
		at[n.plan.ID] = n
	}
	for _, n := range t.chain.nodes {
		t.holds = t.holds || n.plan.WindowAgg != nil && a.bounded()
		for _, e := range a.graph.inner[n.plan.ID] {
			var o output = local{node: at[e.to.ID], port: e.input}
			if w := a.watch(e, subtask, subtask); w != nil {
				o, t.watches = watchedLocal{o.(local), w}, append(t.watches, w)
			}
			n.outs = append(n.outs, o)
		}
		for _, e := range a.graph.consumers(n.plan.ID, plan.Rows) {
			n.outs = append(n.outs, a.newExchange(t, subtask, e, of))
		}
		n.errs = a.newLetters(t, subtask, n.plan.ID, plan.Errors, of)
		n.late = a.newLetters(t, subtask, n.plan.ID, plan.Late, of)
	}
}

// bounded reports that every source of the job ends by itself.
func (a *attempt) bounded() bool {
	for _, n := range a.cfg.Plan.Nodes {
		if n.Source != nil && !n.Source.Bounded {
			return false
		}
	}
	return true
}

func (a *attempt) newLetters(t *task, subtask, node int, port plan.Port, of map[*stage][]*task) *letters {
	var l *letters
	for _, e := range a.graph.consumers(node, port) {
		if l == nil {
			l = &letters{}
		}
		l.outs = append(l.outs, a.newExchange(t, subtask, e, of))
	}
	return l
}

// newExchange makes an output to the subtasks of a consumer.
func (a *attempt) newExchange(t *task, subtask int, e edge, of map[*stage][]*task) *exchange {
	groups := max(a.graph.plan.KeyGroups, 1)
	x := &exchange{kind: e.Exchange, keys: e.Keys, types: schemaOf(a.graph.plan, e.Edge).Types(), groups: groups, box: &t.chain.box,
		clocked: a.graph.timed[e.from.ID],
		moves:   e.Exchange == plan.Hash && !within(e.Keys, e.from.Key)}
	to := of[a.graph.of[e.to.ID]]
	if e.Exchange == plan.Forward {
		to = to[subtask : subtask+1]
	}
	for _, c := range to {
		p := c.box.addPort(t.wake)
		var o stream.Outlet = p
		if w := a.watch(e, subtask, c.id.Subtask); w != nil {
			o = &watchedPort{port: p, watch: w}
		}
		x.targets = append(x.targets, &target{outlet: o, wm: types.MinTime, sent: types.MinTime})
		c.in = append(c.in, inPort{input: e.input, wm: types.MinTime, edge: a.graph.edgeID(e), together: a.graph.together(e.from)})
	}
	x.sub = make([]uint16, groups)
	for g := range groups {
		x.sub[g] = uint16(stream.SubtaskOf(g, len(to), groups))
	}
	x.turn = subtask % len(to)
	t.chain.box.exchanges = append(t.chain.box.exchanges, x)
	return x
}

func within(keys, of []int) bool {
	for _, k := range keys {
		if !slices.Contains(of, k) {
			return false
		}
	}
	return true
}

// openSplits opens the sources and deals their splits out to the subtasks.
func (a *attempt) openSplits(ctx context.Context, m *checkpoint.Manifest) error {
	listed := map[int][]connectors.Split{} // by node, as the first subtask lists them
	for _, t := range a.sources {
		n := t.chain.nodes[0].plan
		splits, known := listed[n.ID]
		if known && t.id.Subtask >= len(splits) {
			continue // nothing to read, no connection needed
		}
		dec, err := a.openSource(ctx, t, n)
		if err != nil {
			return at(t.src.Pos, err)
		}
		if !known {
			if splits, err = t.conn.Splits(ctx); err != nil {
				return at(t.src.Pos, err)
			}
			listed[n.ID] = splits
		}
		restored := restoredSplits(m, n.ID)
		for i, s := range splits {
			if i%t.par != t.id.Subtask {
				continue
			}
			old, ok := restored[s.ID]
			if err := a.openSplit(ctx, t, dec, s, old, ok); err != nil {
				return at(t.src.Pos, err)
			}
		}
		if len(t.splits) == 0 {
			continue
		}
		// The watermark of splits that have all ended counts until End is sent.
		for i, s := range t.splits {
			t.in[i].ended = s.ended && !t.allEnded()
		}
		t.merge()
	}
	return nil
}

func (a *attempt) openSource(ctx context.Context, t *sourceTask, n *plan.Node) (*decoding, error) {
	if n.Values != nil {
		t.conn = &values{node: n}
		return newDecoding(t.src, nil), nil
	}
	c, err := a.connector(t.src.Connector, t.src.Pos)
	if err != nil {
		return nil, err
	}
	options, err := a.resolve(c, t.src.Options)
	if err != nil {
		return nil, err
	}
	if err := a.resetStart(t.src, c, options); err != nil {
		return nil, err
	}
	cfg := connectors.Config{Node: n.ID, Owner: a.owner(t.src.Table), Table: t.src.Table, Options: options, Format: t.src.Format,
		Subtask: t.id.Subtask, Parallelism: t.par, Env: a.cfg.Env}
	var cols []format.Column
	for _, r := range t.src.Read {
		if r.Metadata != "" {
			cfg.Meta = append(cfg.Meta, r.Metadata)
			continue
		}
		field := r.Field
		if field == "" {
			field = r.Name
		}
		cfg.Schema, cfg.Fields = append(cfg.Schema, r.Column), append(cfg.Fields, field)
		cols = append(cols, format.Column{Field: field, Type: r.Type, NotNull: r.NotNull})
	}
	if t.conn, err = c.OpenSource(ctx, cfg); err != nil {
		return nil, err
	}
	a.closers = append(a.closers, t.conn.Close)
	if t.src.Format == "" {
		return newDecoding(t.src, nil), nil
	}
	f, err := format.Find(t.src.Format)
	if err != nil {
		return nil, err
	}
	mk := func() (format.Decoder, error) { return f.NewDecoder(cols, options) }
	return newDecoding(t.src, mk), nil
}

// openSplit opens one split where it was left.
func (a *attempt) openSplit(ctx context.Context, t *sourceTask, d *decoding, s connectors.Split, old checkpoint.SplitState, known bool) error {
	sp := &split{conn: s, wm: types.MinTime, lastRow: a.now()}
	if known {
		reset := a.resets(t.src.Table)
		sp.wm, sp.ended = old.Watermark, old.Ended && !a.cfg.Continue && !reset
		if old.Position != nil && !reset {
			sp.pos = connectors.Position(old.Position)
		}
	}
	t.splits = append(t.splits, sp)
	t.in = append(t.in, inPort{wm: sp.wm})
	wake := newWaker()
	sp.queue = &aheadQueue{task: t.wake, reader: wake}
	if sp.ended {
		return nil
	}
	r, err := t.conn.Open(ctx, s, sp.pos)
	if err != nil {
		return err
	}
	sp.reader = r
	a.closers = append(a.closers, r.Close)
	x := &splitReader{wake: wake, reader: r, queue: sp.queue, run: a, decode: d.decode,
		name: nodeName(t.chain.nodes[0].plan) + ", split " + quote(s.ID)}
	a.readers = append(a.readers, x)
	a.actors = append(a.actors, x)
	return nil
}

// rowFailed applies a node's on.error to a row whose expression failed.
func (n *chainNode) rowFailed(b *vec.Batch, e expr.RowError) error {
	count := &n.count.dropped
	switch n.plan.OnError {
	case "skip":
	case "dead-letter":
		if n.errs != nil {
			count = &n.count.letters
			n.errs.add(letter{table: n.from, code: e.Code, msg: e.Msg, payload: rowJSON(n.inputSchema(b), b, int(e.Row))})
		}
	default:
		err := sqlerr.New(e.Code, e.Pos, "%s", e.Msg)
		schema := n.inputSchema(b)
		if len(schema) == 1 && schema[0].Name == "" {
			return err // a SELECT without FROM has read nothing
		}
		return err.WithDetail("The row is %s.", rowJSON(schema, b, int(e.Row))).
			WithHint("Set 'on.error' = 'skip' or 'dead-letter' to go on without such rows.")
	}
	count.add(e.Code, 1)
	return nil
}

// rowsLate counts late rows, and keeps them when the plan has consumers for them.
func (n *chainNode) rowsLate(b *vec.Batch, rows []int32) {
	if n.late == nil {
		n.count.late.Add(int64(len(rows)))
		return
	}
	n.count.letters.add(lateCode, int64(len(rows)))
	for _, i := range rows {
		n.late.add(letter{table: n.from, code: lateCode, msg: "the row came after its window had fired",
			payload: rowJSON(n.inputSchema(b), b, int(i))})
	}
}
