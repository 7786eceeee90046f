// Command demopg runs the demo against a private PostgreSQL that it starts for it:
// demopg PROGRAM [flags of demo].
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/streamsql/streamsql/internal/pgcluster"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "demopg:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) < 2 {
		return fmt.Errorf("usage: demopg PROGRAM [flags of demo]")
	}
	// The demo gets the signal too and stops by itself.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	dir, err := os.MkdirTemp("", "streamsql-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	c, err := pgcluster.Start(context.Background(), pgcluster.Options{Dir: filepath.Join(dir, "pg"), Durable: true})
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Fprintf(os.Stderr, "A private PostgreSQL runs until the demo ends; look into it with: psql '%s'\n", c.DSN())
	cmd := exec.Command(os.Args[1], append([]string{"demo", "--postgres", c.DSN()}, os.Args[2:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	psql := exec.Command("psql", c.DSN(), "-c", "SELECT count(*) AS rows, count(DISTINCT window_start) AS windows, sum(bids) AS bids FROM auction_bids")
	psql.Stdout, psql.Stderr = os.Stdout, os.Stderr
	_ = psql.Run()
	return nil
}
