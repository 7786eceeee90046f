package crash

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// observer polls a job's tables beside its fence, each time in one snapshot: epochs only
// grow, and while the epoch stays the tables stay as they are. So a reader sees whole
// checkpoints and nothing between them.
type observer struct {
	stop  chan struct{}
	done  sync.WaitGroup
	seen  map[int64]string
	fault error
}

// observe watches the tables that the statements make until the end of the test, or
// until end is called.
func (w *world) observe(t *testing.T, create []string) *observer {
	o := &observer{stop: make(chan struct{}), seen: make(map[int64]string)}
	query := "SELECT (SELECT max(epoch) FROM streamsql_fence)"
	for _, c := range create {
		query += fmt.Sprintf(" || '|' || (SELECT count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) FROM %s t)", strings.Fields(c)[2])
	}
	db := w.pg.Open(t)
	o.done.Add(1)
	go func() {
		defer o.done.Done()
		newest := int64(-1)
		for {
			select {
			case <-o.stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			var row sql.NullString
			if err := db.QueryRow(query).Scan(&row); err != nil || !row.Valid {
				continue // the fence is not there yet
			}
			var epoch int64
			text, tables, _ := strings.Cut(row.String, "|")
			if _, err := fmt.Sscan(text, &epoch); err != nil {
				o.fault = err
				return
			}
			if epoch < newest {
				o.fault = fmt.Errorf("epoch %d is seen after %d", epoch, newest)
				return
			}
			newest = epoch
			if old, ok := o.seen[epoch]; ok && old != tables {
				o.fault = fmt.Errorf("at epoch %d the tables change from %s to %s", epoch, old, tables)
				return
			}
			o.seen[epoch] = tables
		}
	}()
	return o
}

// end stops watching and fails the test if something was seen that must not be, or too
// little at all.
func (o *observer) end(t *testing.T) {
	t.Helper()
	close(o.stop)
	o.done.Wait()
	if o.fault != nil {
		t.Error(o.fault)
	}
	if len(o.seen) < 3 {
		t.Errorf("only %d epochs were seen", len(o.seen))
	}
	t.Logf("%d epochs seen", len(o.seen))
}
