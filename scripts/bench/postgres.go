package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/pgcluster"
)

type database struct {
	*pgcluster.Cluster
	dir string
}

func startPG() (*database, *sql.DB, error) {
	dir, err := os.MkdirTemp("", "streamsql-bench-")
	if err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, nil, err
	}
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{Dir: filepath.Join(dir, "pg"), Durable: true})
	if err != nil {
		return nil, nil, err
	}
	db, err := sql.Open("postgres", c.DSN()+"&binary_parameters=yes")
	return &database{c, dir}, db, err
}

func (d *database) close() {
	_ = d.Kill()
	os.RemoveAll(d.dir)
}

// benchPostgres writes the same rows with the sink and with a loader written by hand:
// unnest of arrays, sorted by key, ten thousand rows a statement. The two take turns, and
// the ratio is the median of the turns'.
func benchPostgres() error {
	m := makeBids(*rows)
	pg, db, err := startPG()
	if err != nil {
		return err
	}
	defer pg.close()
	opts := engine.Options{Connectors: []connectors.Connector{m.connector("columns")}, Parallelism: 1}
	decl := fmt.Sprintf(bidDDL, "mem-columns", "")
	fmt.Printf("%d rows, median of %d\n%-24s %14s %14s %12s\n", m.n, *repeat, "mode", "by hand k/s", "sink k/s", "/by hand")
	const byA, byBP = " ON CONFLICT (a) DO UPDATE SET b = excluded.b, p = excluded.p", " ON CONFLICT (b, p) DO UPDATE SET a = excluded.a"
	for _, c := range []struct{ name, key, mode, conflict string }{
		{"append", "", "append", ""},
		{"upsert, few keys", ", PRIMARY KEY (a)", "upsert", byA},
		{"upsert, many keys", ", PRIMARY KEY (b, p)", "upsert", byBP},
		{"wal, many keys", ", PRIMARY KEY (b, p)", "wal", byBP},
		{"wal, few keys", ", PRIMARY KEY (a)", "wal", byA},
	} {
		if *only != "" && *only != c.name {
			continue
		}
		clean := func() error {
			_, err := db.Exec("DROP TABLE IF EXISTS t, streamsql_fence, streamsql_target, streamsql_letter; CREATE TABLE t (a bigint, b bigint, p bigint" + c.key + "); CHECKPOINT")
			return err
		}
		hand, ours, ratio, err := turns(func() (time.Duration, error) {
			if err := clean(); err != nil {
				return 0, err
			}
			return loadByHand(db, m, c.conflict, strings.Contains(c.key, "(b, p)"))
		}, func() (time.Duration, error) {
			if err := clean(); err != nil {
				return 0, err
			}
			return job(opts, decl+fmt.Sprintf(`CREATE TABLE t (a BIGINT, b BIGINT, p BIGINT%s) WITH (connector = 'postgres', url = '%s', mode = '%s');
INSERT INTO t SELECT auction, bidder, price FROM bid;`, c.key, pg.DSN(), c.mode))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("%-24s %14.0f %14.0f %12.2f\n", c.name, rate(m.n, hand)/1e3, rate(m.n, ours)/1e3, ratio)
	}
	return nil
}

// loadByHand is the best loader that one would write for these three columns: binary
// arrays, the last row of a key within a statement, in the order of the key, and a
// commit every second, as often as the job's.
func loadByHand(db *sql.DB, m *bids, conflict string, twoKeys bool) (time.Duration, error) {
	const batch = 10_000
	ctx := context.Background()
	start := time.Now()
	c, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	begun := start
	var cols [3][]int64
	var arrays [3][]byte
	var rows []int32
	last := make(map[[2]int64]int32, batch)
	flush := func() error {
		rows = rows[:0]
		key := func(i int32) [2]int64 { return [2]int64{cols[0][i]} }
		if twoKeys {
			key = func(i int32) [2]int64 { return [2]int64{cols[1][i], cols[2][i]} }
		}
		if conflict == "" {
			for i := range cols[0] {
				rows = append(rows, int32(i))
			}
		} else {
			clear(last)
			for i := range cols[0] {
				last[key(int32(i))] = int32(i)
			}
			for _, i := range last {
				rows = append(rows, i)
			}
			slices.SortFunc(rows, func(i, j int32) int {
				a, b := key(i), key(j)
				return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
			})
		}
		for k := range cols {
			arrays[k] = appendBigints(arrays[k][:0], cols[k], rows)
			cols[k] = cols[k][:0]
		}
		_, err := c.ExecContext(ctx, "INSERT INTO t SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u(a, b, p)"+conflict,
			arrays[0], arrays[1], arrays[2])
		if err == nil && time.Since(begun) > time.Second {
			_, err = c.ExecContext(ctx, "COMMIT; BEGIN")
			begun = time.Now()
		}
		return err
	}
	for _, b := range m.batches {
		for k := range cols {
			cols[k] = append(cols[k], b.Cols[k].I64...)
		}
		if len(cols[0]) >= batch {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	if err := flush(); err != nil {
		return 0, err
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	return time.Since(start), err
}

// appendBigints appends an array in PostgreSQL's binary form.
func appendBigints(dst []byte, v []int64, rows []int32) []byte {
	be := binary.BigEndian
	for _, x := range []uint32{1, 0, 20, uint32(len(rows)), 1} {
		dst = be.AppendUint32(dst, x)
	}
	for _, i := range rows {
		dst = be.AppendUint64(be.AppendUint32(dst, 8), uint64(v[i]))
	}
	return dst
}

// againByHand writes rows of a result into an empty table like it, by hand, and gives the
// rate.
func againByHand(db *sql.DB, table string) (float64, error) {
	const batch, most = 10_000, 500_000
	var names, params []string
	r, err := db.Query("SELECT quote_ident(attname), format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum", table)
	if err != nil {
		return 0, err
	}
	for r.Next() {
		var name, typ string
		if err := r.Scan(&name, &typ); err != nil {
			return 0, err
		}
		names, params = append(names, name+"::text"), append(params, fmt.Sprintf("$%d::%s[]", len(params)+1, typ))
	}
	cols := make([][]string, len(names))
	row, into := make([]string, len(names)), make([]any, len(names))
	for k := range row {
		into[k] = &row[k]
	}
	if r, err = db.Query(fmt.Sprintf("SELECT %s FROM %s ORDER BY 1, 2 LIMIT %d", strings.Join(names, ", "), table, most)); err != nil {
		return 0, err
	}
	for r.Next() {
		if err := r.Scan(into...); err != nil {
			return 0, err
		}
		for k := range row {
			cols[k] = append(cols[k], row[k])
		}
	}
	if err := r.Err(); err != nil {
		return 0, err
	}
	d, err := median(func() (time.Duration, error) {
		if _, err := db.Exec("DROP TABLE IF EXISTS again; CREATE TABLE again (LIKE " + table + " INCLUDING ALL); CHECKPOINT"); err != nil {
			return 0, err
		}
		start := time.Now()
		for from := 0; from < len(cols[0]); from += batch {
			args := make([]any, len(cols))
			for k := range cols {
				args[k] = pq.StringArray(cols[k][from:min(from+batch, len(cols[k]))])
			}
			if _, err := db.Exec("INSERT INTO again SELECT * FROM unnest("+strings.Join(params, ", ")+") ON CONFLICT DO NOTHING", args...); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	})
	return rate(len(cols[0]), d), err
}
