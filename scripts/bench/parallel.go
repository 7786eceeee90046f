package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/engine"
)

// benchParallel runs queries on one core and on two, from JSON in memory: once as one
// ordered split, whose rows are decoded side by side, and once as two.
func benchParallel() error {
	m := makeBids(*rows)
	fmt.Printf("%d bids of %d bytes, by the clock, median of %d\n", m.n, m.bytes/m.n, *repeat)
	fmt.Printf("%-16s %8s %14s %14s %10s\n", "query", "splits", "1 core M/s", "2 cores M/s", "times")
	for _, q := range queries() {
		if *only != "" && *only != q.name {
			continue
		}
		for _, m.splits = range []int{1, 2} {
			var took [2]time.Duration
			for i := range took {
				var err error
				if took[i], err = onCores(i+1, m, q.sql); err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
			}
			fmt.Printf("%-16s %8d %14.2f %14.2f %10.2f\n", q.name, m.splits, rate(m.n, took[0])/1e6, rate(m.n, took[1])/1e6,
				took[0].Seconds()/took[1].Seconds())
		}
	}
	return nil
}

func onCores(n int, m *bids, query string) (time.Duration, error) {
	old := runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(old)
	opts := engine.Options{Connectors: []connectors.Connector{m.connector("json")}, Parallelism: n}
	text, err := discarding(opts, fmt.Sprintf(bidDDL, "mem-json", ""), query)
	if err != nil {
		return 0, err
	}
	return median(func() (time.Duration, error) { return job(opts, text) })
}

// discarding is the text of a job that counts the query's rows.
func discarding(opts engine.Options, decl, query string) (string, error) {
	e, err := engine.Open(context.Background(), opts)
	if err != nil {
		return "", err
	}
	defer e.Close(context.Background())
	s := e.NewSession()
	if err := declare(s, decl); err != nil {
		return "", err
	}
	text, err := blackhole(s, query)
	return decl + text, err
}
