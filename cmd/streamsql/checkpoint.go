package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func (a *app) checkpointCommand() *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "list and look into checkpoints", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "list [JOB]", Short: "list the complete checkpoints of the data directory", Args: usageArgs(cobra.MaximumNArgs(1)),
			RunE: func(c *cobra.Command, args []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					names := args
					if len(names) == 0 {
						var err error
						if names, err = e.StoredJobs(c.Context()); err != nil {
							return err
						}
					}
					var rows [][]string
					var unreadable []error
					for _, n := range names {
						list, bad, err := e.Checkpoints(c.Context(), n)
						if err != nil && (len(args) > 0 || c.Context().Err() != nil) {
							return err
						}
						if err != nil {
							bad = []error{err}
						}
						unreadable = append(unreadable, bad...)
						for _, m := range list {
							rows = append(rows, engine.CheckpointRow(n, m))
						}
					}
					if err := a.table([]string{"job", "epoch", "attempt", "bytes", "created", "kind"}, rows); err != nil {
						return err
					}
					return a.unreadable(unreadable)
				})
			}},
		&cobra.Command{Use: "inspect JOB", Short: "show what the newest checkpoint of a job holds", Args: usageArgs(cobra.ExactArgs(1)),
			RunE: func(c *cobra.Command, args []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					return a.checkpoints(c.Context(), e, args[0], func(list []*checkpoint.Manifest) error {
						return a.inspect(list[len(list)-1])
					})
				})
			}},
		&cobra.Command{Use: "verify JOB", Short: "read all checkpoints of a job back and check every byte", Args: usageArgs(cobra.ExactArgs(1)),
			RunE: func(c *cobra.Command, args []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					if err := e.VerifyJob(c.Context(), args[0]); err != nil {
						return err
					}
					return a.checkpoints(c.Context(), e, args[0], func(list []*checkpoint.Manifest) error {
						for _, m := range list {
							if err := a.verify(c.Context(), e.Store(), m); err != nil {
								return err
							}
						}
						return nil
					})
				})
			}},
	)
	return c
}

// unreadable says what could not be listed, and fails when there is any.
func (a *app) unreadable(errs []error) (failed error) {
	for _, err := range errs {
		failed = a.show(err, "", exitFailed)
	}
	return failed
}

// checkpoints calls do with the checkpoints of a job that can be read, and fails when
// there is none or when others cannot.
func (a *app) checkpoints(ctx context.Context, e *engine.Engine, job string, do func([]*checkpoint.Manifest) error) error {
	list, unreadable, err := e.Checkpoints(ctx, job)
	if err != nil {
		return err
	}
	switch {
	case len(list) > 0:
		if err := do(list); err != nil {
			return err
		}
	case len(unreadable) == 0:
		return sqlerr.New(sqlerr.CodeCheckpoint, 0, "job %q has no complete checkpoint", job)
	}
	return a.unreadable(unreadable)
}
