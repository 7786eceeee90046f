package sql

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestResetSource: a job whose stream was made anew or purged goes on where it is told
// to, once: the next checkpoint has the new position.
func TestResetSource(t *testing.T) {
	all := newWorld(t)
	ctx := context.Background()
	text := func(w *world) string {
		return w.source("k VARCHAR, v BIGINT", "") + w.sink("got", "v BIGINT", ", mode = 'append'") + "INSERT INTO got SELECT v FROM ev;"
	}
	// run lets the job run until got holds these rows, and ends it.
	run := func(w *world, how engine.Start, want string) {
		w.t.Helper()
		e := w.open()
		j := w.mustStart(e, text(w), how)
		w.eventually("rows "+want, func() bool { return w.rows("SELECT count(*), min(v), max(v) FROM got") == want })
		w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
		if err := j.Stop(soon(w.t), ""); err != nil {
			w.t.Fatal(err)
		}
		w.close(e)
	}
	to := func(pos string) engine.Start { return engine.Start{ResetSource: map[string]string{"ev": pos}} }
	refused := func(w *world, how engine.Start, code, holds string) {
		w.t.Helper()
		e := w.open()
		defer w.close(e)
		f, err := e.Load("job", text(w))
		if err != nil {
			w.t.Fatal(err)
		}
		_, err = e.Run(ctx, f, how)
		if x := sqlerr.As(err); x == nil || x.Code != code || !strings.Contains(x.Msg+" "+x.Hint, holds) {
			w.t.Errorf("%v: %v", how.ResetSource, err)
		}
	}
	prepare := func(t *testing.T) *world {
		w := all.fresh(t)
		w.exec("CREATE TABLE got (v bigint)")
		w.numbers("ev.a", 1, 10)
		run(w, engine.Start{}, "10|1|10")
		return w
	}
	t.Run("recreated", func(t *testing.T) {
		w := prepare(t)
		if err := w.js.DeleteStream(ctx, "EVENTS"); err != nil {
			t.Fatal(err)
		}
		w.stream("EVENTS", "ev.>")
		w.numbers("ev.a", 11, 14)
		refused(w, engine.Start{}, sqlerr.CodeGap, "--reset-source ev=earliest")
		refused(w, engine.Start{ResetSource: map[string]string{"evs": "earliest"}}, sqlerr.CodeUndefinedTable, "It reads ev.")
		refused(w, to("yesterday"), sqlerr.CodeOption, "sequence:N")
		refused(w, to(""), sqlerr.CodeOption, "missing")
		run(w, to("earliest"), "14|1|14")
		w.numbers("ev.a", 15, 16)
		run(w, engine.Start{}, "16|1|16")
	})
	t.Run("purged", func(t *testing.T) {
		w := prepare(t)
		w.numbers("ev.a", 11, 30)
		s, err := w.js.Stream(ctx, "EVENTS")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Purge(ctx, jetstream.WithPurgeSequence(21)); err != nil {
			t.Fatal(err)
		}
		refused(w, engine.Start{}, sqlerr.CodeGap, "--reset-source ev=earliest")
		run(w, to("sequence:26"), "15|1|30")
		run(w, to("earliest"), "25|1|30")
	})
	t.Run("latest", func(t *testing.T) {
		w := prepare(t)
		w.numbers("ev.a", 11, 20)
		// Before a row has come the job dies; the reset stands in its checkpoint.
		e := w.open()
		j := w.mustStart(e, text(w), to("latest"))
		w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
		j.Cancel()
		w.close(e)
		w.numbers("ev.a", 21, 25)
		run(w, engine.Start{}, "15|1|25")
	})
	t.Run("restarted attempts", func(t *testing.T) {
		w := prepare(t)
		e := w.open()
		j := w.mustStart(e, text(w), to("earliest"))
		w.eventually("rows again", func() bool { return w.rows("SELECT count(*) FROM got") == "20" })
		w.eventually("a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
		if err := w.pg.StopImmediate(); err != nil {
			t.Fatal(err)
		}
		w.numbers("ev.a", 11, 12)
		if err := w.pg.Cluster.Start(ctx); err != nil {
			t.Fatal(err)
		}
		w.db = w.pg.Open(t)
		w.eventually("rows on", func() bool { return w.rows("SELECT count(*) FROM got") == "22" })
		if err := j.Stop(soon(t), ""); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a queue", func(t *testing.T) {
		w := prepare(t)
		w.forgetting(jetstream.WorkQueuePolicy)
		w.numbers("ev.a", 11, 14)
		refused(w, to("latest"), sqlerr.CodeOption, "earliest message only")
		run(w, to("earliest"), "14|1|14")
	})
}
