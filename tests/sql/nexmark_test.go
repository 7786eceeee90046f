package sql

import (
	"context"
	"database/sql"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/pgtest"
)

// nexmarkQueries are the benchmark's queries as written, and the same in PostgreSQL's
// words. AVG is compared truncated, as the benchmark's sink stores it.
var nexmarkQueries = []struct{ name, ours, pg string }{
	{"q0", "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
		`SELECT auction, bidder, price, "dateTime", extra FROM bid`},
	{"q1", "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
		`SELECT auction, bidder, 0.908 * price, "dateTime", extra FROM bid`},
	{"q2", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
		`SELECT auction, price FROM bid WHERE mod(auction, 123) = 0`},
	{"q5's counts", "SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime " +
		"FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end",
		`SELECT auction, count(*), s, s + interval '10 s' FROM bid, LATERAL (SELECT date_bin('2 s', "dateTime", '2000-01-01') - n * interval '2 s' AS s
		 FROM generate_series(0, 4) n) w GROUP BY auction, s`},
	{"q7's window", "SELECT MAX(price) AS maxprice, window_end AS `dateTime` " +
		"FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end",
		`SELECT max(price), date_bin('10 s', "dateTime", '2000-01-01') + interval '10 s' FROM bid GROUP BY 2`},
	{"q10", "SELECT auction, bidder, price, `dateTime`, extra, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd'), DATE_FORMAT(`dateTime`, 'HH:mm') FROM bid",
		`SELECT auction, bidder, price, "dateTime", extra, to_char("dateTime", 'YYYY-MM-DD'), to_char("dateTime", 'HH24:MI') FROM bid`},
	{"q12's totals", "SELECT bidder, CAST(SUM(bid_count) AS BIGINT) FROM (SELECT bidder, count(*) AS bid_count, window_start AS starttime, window_end AS endtime " +
		"FROM TABLE(TUMBLE((SELECT *, PROCTIME() AS p_time FROM bid), DESCRIPTOR(p_time), INTERVAL '10' SECOND)) " +
		"GROUP BY bidder, window_start, window_end) q GROUP BY bidder",
		`SELECT bidder, count(*) FROM bid GROUP BY bidder`},
	{"q14", "SELECT auction, bidder, 0.908 * price AS price, CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime' " +
		"WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType, `dateTime`, extra, " +
		"count_char(extra, 'c') AS c_counts FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
		`SELECT auction, bidder, 0.908 * price, CASE WHEN extract(hour FROM "dateTime") BETWEEN 8 AND 18 THEN 'dayTime'
		 WHEN extract(hour FROM "dateTime") <= 6 OR extract(hour FROM "dateTime") >= 20 THEN 'nightTime' ELSE 'otherTime' END, "dateTime", extra,
		 length(extra) - length(replace(extra, 'c', '')) FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000`},
	{"q15", "SELECT DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, " + statistics() + " FROM bid GROUP BY DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')",
		`SELECT to_char("dateTime", 'YYYY-MM-DD'), ` + statistics() + ` FROM bid GROUP BY 1`},
	{"q16", "SELECT channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, max(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`, " + statistics() +
		" FROM bid GROUP BY channel, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')",
		`SELECT channel, to_char("dateTime", 'YYYY-MM-DD'), max(to_char("dateTime", 'HH24:MI') COLLATE "C"), ` + statistics() + ` FROM bid GROUP BY 1, 2`},
	{"q17", "SELECT auction, `day`, total_bids, rank1_bids, rank2_bids, rank3_bids, min_price, max_price, TRUNC(avg_price), sum_price FROM (" +
		"SELECT auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd') AS `day`, count(*) AS total_bids, " +
		"count(*) FILTER (WHERE price < 10000) AS rank1_bids, count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids, " +
		"count(*) FILTER (WHERE price >= 1000000) AS rank3_bids, min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price, " +
		"sum(price) AS sum_price FROM bid GROUP BY auction, DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')) q",
		`SELECT auction, to_char("dateTime", 'YYYY-MM-DD'), count(*), count(*) FILTER (WHERE price < 10000),
		 count(*) FILTER (WHERE price >= 10000 AND price < 1000000), count(*) FILTER (WHERE price >= 1000000),
		 min(price), max(price), trunc(avg(price)), sum(price) FROM bid GROUP BY 1, 2`},
	{"q21", "SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' " +
		"WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' " +
		"ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id FROM bid " +
		"WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')",
		`SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2'
		 WHEN 'baidu' THEN '3' ELSE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] END FROM bid
		 WHERE (regexp_match(url, '(&|^)channel_id=([^&]*)'))[2] IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')`},
	{"q22", "SELECT auction, bidder, price, channel, SPLIT_INDEX(url,'/',3) AS dir1, SPLIT_INDEX(url,'/',4) AS dir2, SPLIT_INDEX(url,'/',5) AS dir3 FROM bid",
		`SELECT auction, bidder, price, channel, split_part(url,'/',4), split_part(url,'/',5), split_part(url,'/',6) FROM bid`},
}

// statistics are the columns that q15 and q16 share.
func statistics() string {
	parts := []string{"count(*)"}
	filters := []string{"price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"}
	for _, f := range filters {
		parts = append(parts, "count(*) FILTER (WHERE "+f+")")
	}
	for _, c := range []string{"bidder", "auction"} {
		parts = append(parts, "count(DISTINCT "+c+")")
		for _, f := range filters {
			parts = append(parts, fmt.Sprintf("count(DISTINCT %s) FILTER (WHERE %s)", c, f))
		}
	}
	return strings.Join(parts, ", ")
}

const nexmarkEvents = 20_000

const nexmarkBid = `CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP(3), extra VARCHAR,
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND) WITH (connector = 'generator', kind = 'nexmark', 'nexmark.event' = 'bid', rows = '%d', seed = '3');`

// TestNexmark runs the benchmark's queries over generated events and has PostgreSQL
// answer them over the same rows.
func TestNexmark(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	db := pg.Open(t)
	loadBids(t, db)
	r := &runner{pg: pg, db: db, feed: newFeed()}
	r.declare("bid", fmt.Sprintf(nexmarkBid, nexmarkEvents))
	for _, q := range nexmarkQueries {
		t.Run(q.name, func(t *testing.T) {
			want := pg.Rows(t, db, q.pg)
			sort.Strings(want)
			if len(want) == 0 {
				t.Fatal("PostgreSQL has no rows to compare with")
			}
			job, err := r.job(q.ours)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []variant{{"whole", 1, 0, false}, {"parallel", 3, 100, false}} {
				got, err := r.run(t, v, job)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, v.name, got, want)
			}
		})
	}
}

func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, PostgreSQL has %d", name, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: row %d\n  we have %s\nPostgreSQL %s", name, i, got[i], want[i])
		}
	}
}

func loadBids(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.Exec(`CREATE TABLE bid (auction bigint, bidder bigint, price bigint, channel text, url text, "dateTime" timestamp(3), extra text)`); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := tx.Prepare(`COPY bid FROM STDIN`)
	if err != nil {
		t.Fatal(err)
	}
	gen := nexmark.New(nexmark.Config{Seed: 3, Base: nexmark.DefaultBase})
	for n := int64(0); n < nexmarkEvents; n++ {
		if nexmark.KindOf(n) != nexmark.KindBid {
			continue
		}
		b := gen.Bid(n)
		if _, err := in.Exec(b.Auction, b.Bidder, b.Price, b.Channel, b.URL, b.DateTime.UTC(), b.Extra); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := in.Exec(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}
