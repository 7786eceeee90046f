package crash

import (
	"context"
	"testing"
	"time"
)

// TestKilledBehindAPooler is B86 for whole jobs: pgbouncer in transaction mode stands
// before PostgreSQL; the program is killed at random, then the pooler under it.
func TestKilledBehindAPooler(t *testing.T) {
	w := newWorld(t, 200_000)
	pooler := w.pg.Pooler(t)
	for _, j := range jobs(pooler.DSN())[:4] {
		t.Run(j.name, func(t *testing.T) {
			w := &world{t: t, url: w.url, pg: w.pg, db: w.db, js: w.js}
			rnd := seed(t)
			w.exec("DROP TABLE IF EXISTS win, tot, a, b, streamsql_fence, streamsql_target")
			w.exec(j.tables...)
			file, data := w.file("job", w.bidTable()+j.sql), t.TempDir()
			kills, outages := 0, 0
			for k := range 8 {
				p := w.start(file, data)
				if k%2 == 1 {
					// A job that has made no checkpoint yet would not wait for the pooler.
					end := time.Now().Add(60 * time.Second)
					for n := 0; n == 0 && !p.ended(10*time.Millisecond); {
						if time.Now().After(end) {
							t.Fatalf("the job makes no checkpoint\n%s", p.stderr.String())
						}
						_ = w.db.QueryRow("SELECT count(*) FROM streamsql_fence WHERE epoch > 0").Scan(&n)
					}
					outages++
					if err := pooler.Kill(); err != nil {
						t.Fatal(err)
					}
					if err := pooler.Start(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				if p.ended(time.Duration(30+rnd.IntN(100+50*k)) * time.Millisecond) {
					if p.err != nil {
						t.Fatalf("the job failed: %v\n%s", p.err, p.stderr.String())
					}
					break
				}
				p.kill()
				kills++
			}
			if kills == 0 || outages == 0 {
				t.Fatalf("the job was killed %d times, the pooler %d times", kills, outages)
			}
			w.finish(file, data)
			w.same(j.got, j.want)
		})
	}
}
