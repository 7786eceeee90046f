package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/engine"
)

func (a *app) savepointCommand() *cobra.Command {
	c := &cobra.Command{Use: "savepoint", Short: "make, list and look into savepoints", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "create JOB [PATH]", Short: "make a savepoint of a job's newest checkpoint",
			Long: "Makes a savepoint of the newest checkpoint of a job whose sinks have all confirmed it. PATH is a\n" +
				"directory that holds nothing else, or a name in the data directory. It is safe while the job runs.",
			Args: usageArgs(cobra.RangeArgs(1, 2)),
			RunE: func(c *cobra.Command, args []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					path := e.NewSavepointPath(args[0])
					if len(args) == 2 {
						path = e.SavepointPath(args[1])
					}
					m, err := e.SavepointOf(c.Context(), args[0], path)
					if err != nil {
						return err
					}
					fmt.Fprintf(a.stdout, "%s (epoch %d)\n", path, m.Epoch)
					return nil
				})
			}},
		&cobra.Command{Use: "list", Short: "list the savepoints of the data directory", Args: usageArgs(cobra.NoArgs),
			RunE: func(c *cobra.Command, _ []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					list, unreadable, err := e.Savepoints(c.Context())
					if err != nil {
						return err
					}
					var rows [][]string
					for _, s := range list {
						rows = append(rows, append([]string{s.Path}, engine.CheckpointRow(s.Manifest.Name, s.Manifest)...))
					}
					if err := a.table([]string{"path", "job", "epoch", "attempt", "bytes", "created", "kind"}, rows); err != nil {
						return err
					}
					return a.unreadable(unreadable)
				})
			}},
		a.pathCommand("inspect", "show what a savepoint holds", func(ctx context.Context, _ checkpoint.Store, m *checkpoint.Manifest) error {
			return a.inspect(m)
		}),
		a.pathCommand("verify", "read a savepoint back and check every byte", func(ctx context.Context, s checkpoint.Store, m *checkpoint.Manifest) error {
			return a.verify(ctx, s, m)
		}),
		&cobra.Command{Use: "drop PATH", Short: "delete a savepoint", Args: usageArgs(cobra.ExactArgs(1)),
			RunE: func(c *cobra.Command, args []string) error {
				return a.withEngine(c.Context(), func(e *engine.Engine) error {
					return engine.DropSavepoint(c.Context(), e.SavepointPath(args[0]))
				})
			}},
	)
	return c
}

func (a *app) pathCommand(name, doc string, do func(context.Context, checkpoint.Store, *checkpoint.Manifest) error) *cobra.Command {
	return &cobra.Command{Use: name + " PATH", Short: doc, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withEngine(c.Context(), func(e *engine.Engine) error {
				s, m, err := engine.OpenSavepoint(c.Context(), e.SavepointPath(args[0]))
				if err != nil {
					return err
				}
				return do(c.Context(), s, m)
			})
		}}
}
