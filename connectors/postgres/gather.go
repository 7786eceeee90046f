package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/vec"
)

// gathering is the rows of a part on their way into the table. Rows are reduced to the
// net change of their keys for as long as that makes them few, and sent when it does not:
// by one of two appliers, while more are gathered with the other.
type gathering struct {
	a     *applier
	other *applier
	link  *link
	tx    *transaction
	part  connectors.Part
	size  int // rows of a statement
	buf   *vec.Batch
	clean int // rows at the front of buf that were screened
	keep  func(n int) (int, error)
	kept  int // pieces of letters
	sel   []int32

	sending  *vec.Batch
	last     time.Time // when something was sent
	out      []refusal // what became of sending, as err and panicked
	err      error
	panicked any
}

// sendEvery is how long rows may gather: the server ends a transaction that stands still.
const sendEvery = 10 * time.Second

func (g *gathering) renew() { g.buf, g.clean = vec.NewBatch(g.a.t.types, g.size), 0 }

func (g *gathering) add(ctx context.Context, b *vec.Batch) error {
	for from := 0; from < b.N; {
		n := min(b.N-from, g.size-g.buf.N)
		g.sel = g.sel[:0]
		for i := range n {
			g.sel = append(g.sel, int32(from+i))
		}
		g.buf.AppendSel(b, g.sel)
		from += n
		if g.buf.N >= g.size {
			if err := g.settle(ctx, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle makes room for more rows, and sends all of them at the end.
func (g *gathering) settle(ctx context.Context, end bool) error {
	out := g.a.screen(g.buf, g.clean)
	if len(out) > 0 {
		if err := g.sent(); err != nil {
			return err
		}
		b := without(g.buf, out)
		if err := g.refused(out); err != nil {
			return err
		}
		g.buf.Release()
		g.buf = b
	}
	if !end && g.a.t.onlyKey && time.Since(g.last) < sendEvery {
		if b := g.a.folder.compact(g.buf); b != nil {
			g.buf.Release()
			g.buf, g.clean = b, b.N
			return nil
		}
	}
	if err := g.send(ctx); err != nil || !end {
		return err
	}
	return g.sent()
}

// send begins to write what was gathered, when what was sent before is written.
func (g *gathering) send(ctx context.Context) error {
	a, b := g.a, g.buf
	net, err := a.net(b)
	all := a.bind(b, net)
	if first := g.sent(); first != nil || err != nil {
		return cmp.Or(first, err)
	}
	g.sending, g.last = b, time.Now()
	g.link.busy.Go(func() {
		defer func() { g.panicked = recover() }()
		g.out, g.err = a.write(ctx, g.tx, b, net, all)
	})
	g.a, g.other = g.other, a
	g.renew()
	return nil
}

// sent waits until that is written.
func (g *gathering) sent() error {
	g.link.busy.Wait()
	if g.panicked != nil {
		panic(g.panicked)
	}
	if g.sending == nil {
		return nil
	}
	err := g.err
	if err == nil {
		err = g.refused(g.out)
	}
	g.sending.Release()
	g.sending, g.out, g.err = nil, nil, nil
	return err
}

// refused tells the policy, and keeps what it puts aside.
func (g *gathering) refused(out []refusal) (err error) {
	if err := report(out, g.part.Refused); err != nil || len(out) == 0 || g.part.Diverted == nil {
		return err
	}
	g.kept, err = g.keep(g.kept)
	return err
}
