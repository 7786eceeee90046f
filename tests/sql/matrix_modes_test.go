package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// matrixMode is a way to write: a query, a sink of its kind, and what PostgreSQL says that
// the sink holds. Input are the rows i of table truth, one a second of event time. Every
// mode has several targets: to is "" or a number.
type matrixMode struct {
	name string
	// keyed tables end up right when rows are written a second time.
	keyed bool
	make  func(w *world, to string)
	job   func(w *world, to string) string
	shown func(w *world, to string) string
	// all and fresh are queries: what all rows make, and what a target gets to see that is
	// written only since row 21.
	all, fresh string
	// save keeps a copy of the target, which it returns a way back to.
	save func(w *world) (restore func())
}

const matrixEvents = "k VARCHAR, i BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"

func inPostgres(name, table, more, insert, shown string) matrixMode {
	return matrixMode{name: name,
		make: func(w *world, to string) { w.exec(fmt.Sprintf("CREATE TABLE out%s (%s)", to, table)) },
		job: func(w *world, to string) string {
			return w.sink("o", table, more+", 'table' = 'out"+to+"'") + insert
		},
		shown: func(w *world, to string) string { return w.rows(fmt.Sprintf(shown, "out"+to)) },
		save: func(w *world) func() {
			w.exec("CREATE TABLE saved AS TABLE out", "CREATE TABLE saved_fence AS TABLE streamsql_fence")
			return func() {
				w.exec("DELETE FROM out", "INSERT INTO out TABLE saved", "DELETE FROM streamsql_fence", "INSERT INTO streamsql_fence TABLE saved_fence")
			}
		}}
}

func matrixModes() []matrixMode {
	const (
		windows = "INSERT INTO o SELECT k, window_start, COUNT(*) FROM TUMBLE(ev, ts, INTERVAL '10' SECOND) GROUP BY k, window_start, window_end"
		totals  = "INSERT INTO o SELECT k, COUNT(*), CAST(SUM(i) AS BIGINT) FROM ev GROUP BY k"
		rows    = "INSERT INTO o SELECT k, i FROM ev"
		sum     = "SELECT k || ',' || count(*) || ',' || sum(i) FROM truth GROUP BY k ORDER BY 1"
		closed  = `SELECT k || ',' || i / 10 || ',' || count(*) FROM truth WHERE i / 10 < (SELECT max(i) FROM truth) / 10 %s GROUP BY k, i / 10 ORDER BY 1`
		each    = "SELECT k || ',' || i FROM truth %s ORDER BY (k || ',' || i) COLLATE \"C\""
	)
	early := inPostgres("upsert early", "k VARCHAR, s TIMESTAMP(3), n BIGINT, PRIMARY KEY (k, s)", "", windows,
		"SELECT k || ',' || extract(second FROM s)::int / 10 || ',' || n FROM %s ORDER BY 1")
	early.all, early.fresh = fmt.Sprintf(closed, ""), fmt.Sprintf(closed, "AND i >= 20")
	upsert := inPostgres("upsert with the checkpoint", "k VARCHAR PRIMARY KEY, n BIGINT, s BIGINT", "", totals, "SELECT k || ',' || n || ',' || s FROM %s ORDER BY 1")
	wal := inPostgres("wal", "k VARCHAR PRIMARY KEY, n BIGINT, s BIGINT", ", mode = 'wal'", totals, "SELECT k || ',' || n || ',' || s FROM %s ORDER BY 1")
	appends := inPostgres("append", "k VARCHAR, i BIGINT", ", mode = 'append'", rows, "SELECT k || ',' || i FROM %s ORDER BY (k || ',' || i) COLLATE \"C\"")
	upsert.all, upsert.fresh = sum, sum
	wal.all, wal.fresh = sum, sum
	early.keyed, upsert.keyed, wal.keyed = true, true, true
	modes := []matrixMode{early, upsert, wal, appends, natsMode(rows), fileMode(rows)}
	for i := range modes {
		if m := &modes[i]; m.all == "" {
			m.all, m.fresh = fmt.Sprintf(each, ""), fmt.Sprintf(each, "WHERE i > 20")
		}
	}
	return modes
}

func natsMode(insert string) matrixMode {
	return matrixMode{name: "nats exactly-once",
		make: func(w *world, to string) {
			name := "OUT" + to
			if err := w.js.DeleteStream(context.Background(), name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				w.t.Fatal(err)
			}
			w.eventually("stream "+name, func() bool {
				_, err := w.js.CreateStream(context.Background(), jetstream.StreamConfig{Name: name, Subjects: []string{"out" + to + ".>"},
					AllowAtomicPublish: true, AllowMsgTTL: true})
				return err == nil
			})
		},
		job: func(w *world, to string) string {
			return fmt.Sprintf("CREATE TABLE o (k VARCHAR, i BIGINT) WITH (connector = 'nats', url = '%s', subject = 'out%s.rows', delivery = 'exactly-once', format = 'json');\n", w.nats.URL(), to) + insert
		},
		shown: func(w *world, to string) string {
			ctx := context.Background()
			s, err := w.js.Stream(ctx, "OUT"+to)
			if err != nil {
				return err.Error()
			}
			info, err := s.Info(ctx)
			if err != nil {
				return err.Error()
			}
			var out []string
			for seq := max(info.State.FirstSeq, 1); seq <= info.State.LastSeq; seq++ {
				m, err := s.GetMsg(ctx, seq)
				if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Subject != "out"+to+".rows" {
					continue
				}
				if err != nil {
					return err.Error()
				}
				var row struct {
					K string
					I int
				}
				if err := json.Unmarshal(m.Data, &row); err != nil {
					return err.Error()
				}
				out = append(out, fmt.Sprintf("%s,%d", row.K, row.I))
			}
			sort.Strings(out)
			return strings.Join(out, "\n")
		},
		save: func(w *world) func() { return w.saveStream("OUT") },
	}
}

func fileMode(insert string) matrixMode {
	dir := func(w *world, to string) string { return filepath.Join(w.files, "out"+to) }
	return matrixMode{name: "file",
		make: func(*world, string) {},
		job: func(w *world, to string) string {
			return fmt.Sprintf("CREATE TABLE o (k VARCHAR, i BIGINT) WITH (connector = 'file', path = '%s', format = 'csv');\n", dir(w, to)) + insert
		},
		shown: func(w *world, to string) string {
			names, err := filepath.Glob(filepath.Join(dir(w, to), "*.csv"))
			if err != nil {
				return err.Error()
			}
			var out []string
			for _, n := range names {
				text, err := os.ReadFile(n)
				if err != nil {
					return err.Error()
				}
				for line := range strings.Lines(string(text)) {
					if line = strings.TrimSpace(line); line != "k,i" {
						out = append(out, line)
					}
				}
			}
			sort.Strings(out)
			return strings.Join(out, "\n")
		},
		save: func(w *world) func() {
			copyDir(w, dir(w, "saved"), dir(w, ""))
			return func() { copyDir(w, dir(w, ""), dir(w, "saved")) }
		}}
}

// copyDir makes to a copy of from.
func copyDir(w *world, to, from string) {
	w.t.Helper()
	if err := os.RemoveAll(to); err != nil {
		w.t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		w.t.Fatal(err)
	}
}
