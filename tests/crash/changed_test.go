package crash

import (
	"testing"
	"time"

	"github.com/streamsql/streamsql/internal/crashpoint"
)

// TestChangedQueryKilled starts a job under one query and the other by turns, and kills it
// at every named place and at random: while it settles the rows that the checkpoint of the
// other query holds, before its own first checkpoint, and later. What both write is right
// to the row.
func TestChangedQueryKilled(t *testing.T) {
	w := newWorld(t, 60_000)
	const hole = "CREATE TABLE hole (bidder BIGINT) WITH (connector = 'blackhole');\nINSERT INTO hole SELECT bidder FROM bid WHERE price > 100;\n"
	for _, j := range jobs(w.pg.DSN)[1:4] {
		t.Run(j.name, func(t *testing.T) {
			w := w.of(t)
			w.flags = []string{"--allow-non-restored-state"}
			rnd := seed(t)
			w.exec("DROP TABLE IF EXISTS win, tot, a, b, streamsql_fence, streamsql_target")
			w.exec(j.tables...)
			data := t.TempDir()
			texts := []string{w.bidTable() + j.sql, w.bidTable() + hole + j.sql}
			turn, died := 0, 0
			run := func(env ...string) *process {
				turn++
				return w.start(w.file("job", texts[turn%2]), data, env...)
			}
			for _, name := range crashpoint.Names {
				if w.died(run(crashAt(name, 1))) {
					died++
				}
				p := run()
				if p.ended(time.Duration(20+rnd.IntN(120)) * time.Millisecond) {
					w.died(p)
					break
				}
				p.kill()
				died++
				if rnd.IntN(2) == 0 {
					turn++
				}
			}
			if died < 6 {
				t.Fatalf("the program died only %d times", died)
			}
			turn++
			w.finish(w.file("job", texts[turn%2]), data)
			w.same(j.got, j.want)
		})
	}
}
