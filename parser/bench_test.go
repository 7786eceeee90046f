package parser

import (
	"strings"
	"testing"
)

const benchQuery = `INSERT INTO out SELECT auction, window_start, count(*) AS n, sum(price) FILTER (WHERE price > 100) AS big,
	CASE WHEN max(price) > 1000 THEN 'high' WHEN max(price) > 10 THEN 'mid' ELSE 'low' END AS rank
	FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND)) AS b
	LEFT JOIN (SELECT id, lower(name) || '-' || city AS who FROM person WHERE state IN ('OR', 'ID', 'CA')) p ON b.bidder = p.id
	WHERE price + 1 * 2 > 3 AND channel LIKE 'c%' GROUP BY auction, window_start, window_end HAVING count(*) > 1`

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchQuery)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchQuery); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLargeText(b *testing.B) {
	text := strings.Repeat("SELECT f(a + 1, b * 2) FROM t WHERE x = 1 AND y LIKE 'z';\n", 10000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
