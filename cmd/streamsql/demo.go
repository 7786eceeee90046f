package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/examples"
	"github.com/streamsql/streamsql/repl"
)

func (a *app) demoCommand() *cobra.Command {
	var postgres string
	var length time.Duration
	c := &cobra.Command{
		Use:   "demo",
		Short: "run the main job on generated events and show its results change",
		Long: "Publishes Nexmark bids to an embedded NATS JetStream server, counts them in windows of ten seconds of\n" +
			"event time, and prints each window as it closes; with --postgres also writes windows by auction there.\n" +
			"Everything lies in a temporary directory unless --data-dir is given.",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), postgres, length) },
	}
	c.Flags().StringVar(&postgres, "postgres", "", "also write results into this PostgreSQL (a libpq URL)")
	c.Flags().DurationVar(&length, "for", 0, "end by itself after this long (default: on Ctrl-C)")
	return c
}

func (a *app) demo(ctx context.Context, postgres string, length time.Duration) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	o, err := a.options()
	if err != nil {
		return err
	}
	o.DataDir = a.dataDir // a temporary one unless named
	if o.Vars == nil {
		o.Vars = make(map[string]string)
	}
	o.Vars["POSTGRES_URL"] = postgres
	return a.withOptions(ctx, o, func(e *engine.Engine) error {
		publish, err := a.demoJob(ctx, e, "demo-publish", examples.DemoPublish)
		if err != nil {
			return err
		}
		jobs := []*engine.Job{publish}
		if postgres != "" {
			into, err := a.demoJob(ctx, e, "demo-postgres", examples.DemoPostgres)
			if err != nil {
				return err
			}
			jobs = append(jobs, into)
		}
		fmt.Fprintf(a.stderr, "Generated bids go to stream NEXMARK of an embedded NATS JetStream server; this reads them back:\n\n%s\n\n",
			strings.TrimSpace(examples.DemoWindows))
		if postgres != "" {
			fmt.Fprint(a.stderr, "Windows by auction go to table auction_bids of PostgreSQL.\n")
		}
		fmt.Fprint(a.stderr, "Ten seconds of event time pass in each second; Ctrl-C ends the demo.\n\n")
		if length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, length)
			defer cancel()
		}
		if err := a.showQuery(ctx, e, examples.DemoWindows); err != nil {
			return err
		}
		return a.summary(jobs)
	})
}

func (a *app) demoJob(ctx context.Context, e *engine.Engine, name, sql string) (*engine.Job, error) {
	f, err := e.Load(name, sql)
	if err != nil {
		return nil, a.show(err, sql, exitFailed)
	}
	return a.start(ctx, e, jobFile{File: f, src: sql}, engine.Start{})
}

// showQuery prints the rows of the file's SELECT until ctx ends.
func (a *app) showQuery(ctx context.Context, e *engine.Engine, sql string) error {
	f, err := e.Load("demo", sql)
	if err != nil {
		return a.show(err, sql, exitFailed)
	}
	q, err := e.Query(ctx, f, f.Queries()[0])
	if err != nil {
		return a.show(err, sql, exitFailed)
	}
	defer q.Stop()
	err = repl.NewPrinter(a.stdout, a.format, repl.IsTerminal(a.stdout)).Query(ctx, q)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return a.show(err, sql, exitFailed)
}

// summary stops the jobs after a last checkpoint and says what they did.
func (a *app) summary(jobs []*engine.Job) error {
	for _, j := range jobs {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		err := j.Stop(ctx, "")
		cancel()
		if err != nil {
			return a.show(err, j.SQL, exitFailed)
		}
		a.tellEnd(j.Name, j.Status())
	}
	return nil
}
