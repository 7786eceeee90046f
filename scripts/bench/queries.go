package main

import (
	"fmt"
	"strings"
)

// query is one of the benchmark's, with the budget of the engine alone from columns, in
// thousand events a second on one core; 0 for none.
type query struct {
	name   string
	sql    string
	budget float64
}

func queries() []query {
	day := "DATE_FORMAT(\"dateTime\", 'yyyy-MM-dd')"
	filters := []string{"price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"}
	stats := []string{"count(*)"}
	for _, f := range filters {
		stats = append(stats, "count(*) FILTER (WHERE "+f+")")
	}
	for _, c := range []string{"bidder", "auction"} {
		stats = append(stats, "count(DISTINCT "+c+")")
		for _, f := range filters {
			stats = append(stats, fmt.Sprintf("count(DISTINCT %s) FILTER (WHERE %s)", c, f))
		}
	}
	all := strings.Join(stats, ", ")
	window := func(f string) string {
		return `SELECT auction, window_start, COUNT(*), SUM(price) FROM TABLE(` + f + `) GROUP BY auction, window_start, window_end`
	}
	return []query{
		{"q0", `SELECT auction, bidder, price, "dateTime", extra FROM bid`, 4360},
		{"q1", `SELECT auction, bidder, 0.908 * price, "dateTime", extra FROM bid`, 4120},
		{"q2", `SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0`, 4220},
		{"q10", `SELECT auction, bidder, price, "dateTime", extra, ` + day + `, DATE_FORMAT("dateTime", 'HH:mm') FROM bid`, 2000},
		{"q14", `SELECT auction, bidder, 0.908 * price, CASE WHEN HOUR("dateTime") >= 8 AND HOUR("dateTime") <= 18 THEN 'dayTime' ` +
			`WHEN HOUR("dateTime") <= 6 OR HOUR("dateTime") >= 20 THEN 'nightTime' ELSE 'otherTime' END, "dateTime", extra, count_char(extra, 'c') ` +
			`FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000`, 4290},
		{"q15", `SELECT ` + day + `, ` + all + ` FROM bid GROUP BY ` + day, 2210},
		{"q16", `SELECT channel, ` + day + `, max(DATE_FORMAT("dateTime", 'HH:mm')), ` + all + ` FROM bid GROUP BY channel, ` + day, 510},
		{"q17", `SELECT auction, ` + day + `, count(*), count(*) FILTER (WHERE price < 10000), count(*) FILTER (WHERE price >= 10000 AND price < 1000000), ` +
			`count(*) FILTER (WHERE price >= 1000000), min(price), max(price), avg(price), sum(price) FROM bid GROUP BY auction, ` + day, 2420},
		{"q21", `SELECT auction, bidder, price, channel, CASE WHEN lower(channel) = 'apple' THEN '0' WHEN lower(channel) = 'google' THEN '1' ` +
			`WHEN lower(channel) = 'facebook' THEN '2' WHEN lower(channel) = 'baidu' THEN '3' ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END ` +
			`FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR lower(channel) IN ('apple', 'google', 'facebook', 'baidu')`, 1000},
		{"q22", `SELECT auction, bidder, price, channel, SPLIT_INDEX(url,'/',3), SPLIT_INDEX(url,'/',4), SPLIT_INDEX(url,'/',5) FROM bid`, 3940},
		{"tumble 10 s", window(`TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND)`), 4120},
		{"hop 10 s / 2 s", window(`HOP(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '2' SECOND, INTERVAL '10' SECOND)`), 4120},
	}
}
