package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/streamsql/streamsql/engine"
)

// benchCheckpoint compares a job with a checkpoint each second and one without: windows
// over some ten thousand keys, and state that grows by a key every second row; then a
// restart with much state.
func benchCheckpoint() error {
	const events = 50_000_000
	decl := fmt.Sprintf(bidDDL, "generator", fmt.Sprintf(", kind = 'nexmark', 'nexmark.event' = 'bid', rows = '%d'", events))
	fmt.Printf("%d events, median of %d\n", events, *repeat)
	for _, c := range []struct{ name, sql string }{
		{"tumble 10 s by auction", "CREATE TABLE out (a BIGINT, s TIMESTAMP(3), n BIGINT) WITH (connector = 'blackhole');\n" +
			`INSERT INTO out SELECT auction, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR("dateTime"), INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end;`},
		{"updating, by auction and bidder", "CREATE TABLE out (a BIGINT, b BIGINT, n BIGINT, PRIMARY KEY (a, b)) WITH (connector = 'blackhole');\n" +
			"INSERT INTO out SELECT auction, bidder, COUNT(*) FROM bid GROUP BY auction, bidder;"},
	} {
		var base time.Duration
		for _, interval := range []string{"24h", "1s"} {
			d, err := median(func() (time.Duration, error) {
				dir, err := os.MkdirTemp("", "streamsql-bench-")
				if err != nil {
					return 0, err
				}
				defer os.RemoveAll(dir)
				return job(engine.Options{DataDir: dir, Settings: map[string]string{"checkpoint.interval": interval}}, decl+c.sql)
			})
			if err != nil {
				return err
			}
			if base == 0 {
				base = d
			}
			fmt.Printf("%-34s checkpoint every %-4s %8.2f M events/s %8.3f of none\n", c.name, interval, rate(events, d)/1e6, base.Seconds()/d.Seconds())
		}
	}
	return benchRecovery()
}

// benchProgram measures the start and the memory of the built program.
func benchProgram() error {
	dir, err := os.MkdirTemp("", "streamsql-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	nats := `CREATE TABLE s (a BIGINT) WITH (connector = 'nats', stream = 'S', subject = 's', 'auto.create' = 'true'); INSERT INTO s VALUES (1);`
	for _, c := range []struct{ name, text string }{
		{"SELECT 1", "SELECT 1;"},
		{"a row into the embedded NATS server", nats},
	} {
		d, err := median(func() (time.Duration, error) {
			start := time.Now()
			out, err := exec.Command(*program, "--data-dir", dir, "-c", c.text).CombinedOutput()
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, out)
			}
			return time.Since(start), nil
		})
		if err != nil {
			return err
		}
		fmt.Printf("start to end of %-40s %8.1f ms\n", c.name, float64(d.Microseconds())/1000)
	}
	cmd := exec.Command(*program, "demo", "--data-dir", dir)
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for _, wait := range []time.Duration{time.Second, 4 * time.Second} {
		time.Sleep(wait)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			return nil // no /proc: not Linux
		}
		for _, l := range strings.Split(string(status), "\n") {
			if strings.HasPrefix(l, "VmRSS:") {
				fmt.Printf("resident memory of the running demo after %-18s %s\n", wait, strings.TrimSpace(l[6:]))
			}
		}
	}
	return nil
}
