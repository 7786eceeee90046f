package engine_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgtest"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestStartAfterFork: a job whose savepoint was started elsewhere does not write again
// what that one has written, and does not take its target away by trying; nor does a job
// that is refused after it has claimed the target.
func TestStartAfterFork(t *testing.T) {
	const input = `CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = '${IN}', format = 'json', follow = 'true');
CREATE TABLE state (v BIGINT, n BIGINT) WITH (connector = 'blackhole');
`
	ctx := context.Background()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	for name, c := range map[string]struct {
		text string
		rows func(dir string) string
		hint string
	}{
		"table": {
			input + "CREATE TABLE o (v BIGINT) WITH (connector = 'postgres', url = '${DSN}', mode = 'append', 'auto.create' = 'true'); INSERT INTO o SELECT v FROM i; INSERT INTO state SELECT v, COUNT(*) FROM i GROUP BY v",
			func(string) string { return count(db) }, "With --take-over"},
		"directory": {
			input + "CREATE TABLE o (v BIGINT) WITH (connector = 'file', path = '${OUT}', format = 'csv'); INSERT INTO o SELECT v FROM i; INSERT INTO state SELECT v, COUNT(*) FROM i GROUP BY v",
			func(dir string) string { return lines(t, filepath.Join(dir, "out")) }, "Go on with that job"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, "in.json")
			at := func(data string) *engine.Engine {
				return open(t, engine.Options{DataDir: filepath.Join(dir, data), Settings: map[string]string{"checkpoint.interval": "20ms"},
					Vars: map[string]string{"IN": in, "OUT": filepath.Join(dir, "out"), "DSN": pg.DSN}})
			}
			start := func(e *engine.Engine, how engine.Start) (*engine.Job, error) {
				return e.Run(ctx, load(t, e, "j", c.text), how)
			}
			step := func(e *engine.Engine, how engine.Start, row, want, savepoint string) {
				t.Helper()
				write(t, in, row)
				j, err := start(e, how)
				if err != nil {
					t.Fatal(sqlerr.Render(err, c.text))
				}
				eventually(t, want, func() bool { return c.rows(dir) == want })
				if err := j.Stop(ctx, savepoint); err != nil {
					t.Fatal(err)
				}
			}
			old, fork, sp := at("old"), at("fork"), filepath.Join(dir, "sp")
			step(old, engine.Start{}, `{"v":1}`, "1", "")
			step(old, engine.Start{}, `{"v":2}`, "1 2", sp)
			step(fork, engine.Start{FromSavepoint: sp, TakeOver: true}, `{"v":3}`, "1 2 3", "")
			_, err := start(old, engine.Start{})
			if e := sqlerr.As(err); e == nil || e.Code != sqlerr.CodeFenced || !strings.Contains(e.Msg, "another job has taken") || !strings.Contains(e.Hint, c.hint) {
				t.Fatalf("the job from before the fork gives %+v", e)
			}
			sp = filepath.Join(dir, "later")
			step(fork, engine.Start{}, `{"v":4}`, "1 2 3 4", sp)
			damaged := engine.Start{FromSavepoint: damagedCopy(t, sp), TakeOver: true}
			if _, err := old.Run(ctx, load(t, old, "other", c.text), damaged); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
				t.Fatalf("a damaged savepoint gives %v", err)
			}
			step(fork, engine.Start{}, `{"v":5}`, "1 2 3 4 5", "")
		})
	}
}

func count(db *sql.DB) string {
	rows, _ := pgtest.Query(db, "SELECT v FROM o ORDER BY v")
	return strings.Join(rows, " ")
}
