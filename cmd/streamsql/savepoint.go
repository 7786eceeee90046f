package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/repl"
)

// withEngine runs do with an engine on the data directory.
func (a *app) withEngine(ctx context.Context, do func(*engine.Engine) error) error {
	o, err := a.options()
	if err != nil {
		return err
	}
	e, err := engine.Open(ctx, o)
	if err != nil {
		return err
	}
	defer e.Close(ctx)
	return do(e)
}

func (a *app) savepointCommand() *cobra.Command {
	c := &cobra.Command{Use: "savepoint", Short: "make, list and look into savepoints", Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "create JOB [PATH]", Short: "make a savepoint of a job's newest checkpoint", Args: usageArgs(cobra.RangeArgs(1, 2)),
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
					list, err := e.Savepoints(c.Context())
					if err != nil {
						return err
					}
					var rows [][]string
					for _, s := range list {
						rows = append(rows, append([]string{s.Path}, engine.CheckpointRow(s.Manifest.Name, s.Manifest)...))
					}
					return repl.Table(a.stdout, []string{"path", "job", "epoch", "attempt", "bytes", "created", "kind"}, rows)
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
					for _, n := range names {
						list, err := e.Checkpoints(c.Context(), n)
						if err != nil {
							return err
						}
						for _, m := range list {
							rows = append(rows, engine.CheckpointRow(n, m))
						}
					}
					return repl.Table(a.stdout, []string{"job", "epoch", "attempt", "bytes", "created", "kind"}, rows)
				})
			}},
		a.jobCommand("inspect", "show what the newest checkpoint of a job holds", func(_ context.Context, _ *engine.Engine, list []*checkpoint.Manifest) error {
			return a.inspect(list[len(list)-1])
		}),
		a.jobCommand("verify", "read all checkpoints of a job back and check every byte", func(ctx context.Context, e *engine.Engine, list []*checkpoint.Manifest) error {
			for _, m := range list {
				if err := a.verify(ctx, e.Store(), m); err != nil {
					return err
				}
			}
			return nil
		}),
	)
	return c
}

func (a *app) jobCommand(name, doc string, do func(context.Context, *engine.Engine, []*checkpoint.Manifest) error) *cobra.Command {
	return &cobra.Command{Use: name + " JOB", Short: doc, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withEngine(c.Context(), func(e *engine.Engine) error {
				list, err := e.Checkpoints(c.Context(), args[0])
				if err != nil {
					return err
				}
				if len(list) == 0 {
					return sqlerr.New(sqlerr.CodeCheckpoint, 0, "job %q has no complete checkpoint", args[0])
				}
				return do(c.Context(), e, list)
			})
		}}
}

func (a *app) inspect(m *checkpoint.Manifest) error {
	fmt.Fprintf(a.stdout, "job       %s (id %s)\nepoch     %d, attempt %d\nmade by   streamsql %s, manifest version %d, key hash %s\n\n",
		m.Name, m.Job, m.Epoch, m.Attempt, m.Program, m.Version, m.Hash)
	var rows [][]string
	for _, t := range m.Tasks {
		var bytes int64
		for _, b := range t.Blobs {
			bytes += b.Size
		}
		var splits []string
		for _, s := range t.Splits {
			splits = append(splits, s.ID+" "+string(s.Position))
		}
		rows = append(rows, []string{fmt.Sprint(t.Node), fmt.Sprintf("%d/%d", t.Subtask, t.Parallelism),
			fmt.Sprintf("[%d,%d)", t.Groups.From, t.Groups.To), fmt.Sprint(bytes), strings.Join(splits, "; ")})
	}
	if err := repl.Table(a.stdout, []string{"node", "subtask", "key groups", "state bytes", "positions"}, rows); err != nil {
		return err
	}
	rows = nil
	for _, s := range m.Sinks {
		rows = append(rows, []string{fmt.Sprint(s.Node), s.Mode, s.Target, fmt.Sprint(s.Count)})
	}
	return repl.Table(a.stdout, []string{"sink node", "mode", "target", "rows kept"}, rows)
}

func (a *app) verify(ctx context.Context, s checkpoint.Store, m *checkpoint.Manifest) error {
	if err := checkpoint.Verify(ctx, s, m); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "epoch %d: ok, %d objects\n", m.Epoch, len(checkpoint.Blobs(m)))
	return nil
}
