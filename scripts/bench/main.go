// Command bench measures streamsql: each figure beside what it is to be compared with,
// in one run, since machines differ and are noisy. Groups: engine, parallel, nats,
// postgres, checkpoint, program; all when none is named.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"syscall"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/heap"
	"github.com/streamsql/streamsql/internal/vec"
)

var (
	rows    = flag.Int("rows", 2_000_000, "bids in memory")
	repeat  = flag.Int("repeat", 3, "runs of each measurement; the median counts")
	only    = flag.String("query", "", "only this query of the engine group or mode of the postgres group")
	profile = flag.String("cpuprofile", "", "write a CPU profile here")
	program = flag.String("program", "build/streamsql", "the built program")
	serve   = flag.String("serve", "", "be a NATS server over this directory, for another bench")
)

func main() {
	flag.Parse()
	heap.Spare() // as the program does
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(groups []string) error {
	if *serve != "" {
		return serveBroker(*serve)
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	all := []struct {
		name string
		run  func() error
	}{{"engine", benchEngine}, {"parallel", benchParallel}, {"nats", benchNATS}, {"postgres", benchPostgres}, {"checkpoint", benchCheckpoint}, {"program", benchProgram}}
	for _, g := range all {
		want := len(groups) == 0
		for _, n := range groups {
			want = want || n == g.name
		}
		if !want {
			continue
		}
		fmt.Printf("\n== %s\n", g.name)
		if err := g.run(); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	return nil
}

// median runs do several times and gives the middle duration.
func median(do func() (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for range *repeat {
		runtime.GC()
		d, err := do()
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	return middle(all), nil
}

// medianCPU does the same with the time that the process spent on the CPU: on one core
// what a figure means, whatever else the machine is doing.
func medianCPU(do func() error) (time.Duration, error) {
	return median(func() (time.Duration, error) {
		before := cpuTime()
		err := do()
		return cpuTime() - before, err
	})
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turns runs two measurements in turn and gives their middle durations and the middle of
// the ratios of the first to the second.
func turns(one, two func() (time.Duration, error)) (a, b time.Duration, ratio float64, err error) {
	var as, bs []time.Duration
	var ratios []float64
	for range *repeat {
		for _, x := range []struct {
			do  func() (time.Duration, error)
			all *[]time.Duration
		}{{one, &as}, {two, &bs}} {
			runtime.GC()
			d, err := x.do()
			if err != nil {
				return 0, 0, 0, err
			}
			*x.all = append(*x.all, d)
		}
		ratios = append(ratios, as[len(as)-1].Seconds()/bs[len(bs)-1].Seconds())
	}
	sort.Float64s(ratios)
	return middle(as), middle(bs), ratios[len(ratios)/2], nil
}

func middle(all []time.Duration) time.Duration {
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return all[len(all)/2]
}

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// job runs a job file to its end and tells how long that took.
func job(opts engine.Options, sql string) (time.Duration, error) {
	ctx := context.Background()
	e, err := engine.Open(ctx, opts)
	if err != nil {
		return 0, err
	}
	defer e.Close(ctx)
	f, err := e.Load("bench", sql)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	j, err := e.Run(ctx, f, engine.Start{})
	if err != nil {
		return 0, err
	}
	err = j.Wait()
	return time.Since(start), err
}

const bidDDL = `CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP(3), extra VARCHAR,
  WATERMARK FOR "dateTime" AS "dateTime" - INTERVAL '4' SECOND) WITH (connector = '%s'%s);
`

// blackhole wraps a query into a job that counts its rows.
func blackhole(e *engine.Session, query string) (string, error) {
	schema, err := e.Columns(query)
	if err != nil {
		return "", err
	}
	ddl := ""
	for i, c := range schema {
		if i > 0 {
			ddl += ", "
		}
		ddl += fmt.Sprintf("c%d %s", i, c.Type)
	}
	return fmt.Sprintf("CREATE TABLE out (%s) WITH (connector = 'blackhole');\nINSERT INTO out %s;", ddl, query), nil
}

// benchEngine measures queries on one core from columns and from JSON bytes, beside the
// JSON decoder alone.
func benchEngine() error {
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	m := makeBids(*rows)
	decoder, err := medianCPU(func() error { return decodeAll(m) })
	if err != nil {
		return err
	}
	alone := rate(m.n, decoder)
	fmt.Printf("%d bids of %d bytes, one core, events by CPU second, median of %d\n", m.n, m.bytes/m.n, *repeat)
	fmt.Printf("JSON decoder alone, 7 fields: %.2f M events/s\n\n", alone/1e6)
	fmt.Printf("%-16s %14s %8s %14s %16s\n", "query", "columns M/s", "/budget", "JSON M/s", "/decoder alone")
	for _, q := range queries() {
		if *only != "" && *only != q.name {
			continue
		}
		var figure [2]float64
		for i, kind := range []string{"columns", "json"} {
			opts := engine.Options{Connectors: []connectors.Connector{m.connector(kind)}, Parallelism: 1}
			text, err := discarding(opts, fmt.Sprintf(bidDDL, "mem-"+kind, ""), q.sql)
			if err != nil {
				return err
			}
			d, err := medianCPU(func() error { _, err := job(opts, text); return err })
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			figure[i] = rate(m.n, d)
		}
		fmt.Printf("%-16s %14.2f %8.2f %14.2f %16.2f\n", q.name, figure[0]/1e6, figure[0]/1e3/q.budget, figure[1]/1e6, figure[1]/alone)
	}
	return nil
}

func declare(s *engine.Session, text string) error {
	script, err := s.Parse(text)
	if err != nil {
		return err
	}
	for i := range script.Statements {
		if _, err := s.Exec(context.Background(), script, i); err != nil {
			return err
		}
	}
	return nil
}

func decodeAll(m *bids) error {
	f, err := format.Find("json")
	if err != nil {
		return err
	}
	var cols []format.Column
	for _, c := range bidColumns {
		cols = append(cols, format.Column{Field: c.Name, Type: c.Type})
	}
	d, err := f.NewDecoder(cols, map[string]string{"timestamp.format": "iso"})
	if err != nil {
		return err
	}
	var origin []int32
	var errs []format.RowError
	for _, c := range m.texts {
		b := vec.NewBatch(bidColumns.Types(), len(c.ends))
		origin, errs = d.Decode(c.payloads(), b, origin[:0], errs[:0])
		if len(errs) > 0 || b.N != len(c.ends) {
			return fmt.Errorf("a bid was not decoded: %v", errs)
		}
		b.Release()
	}
	return nil
}
