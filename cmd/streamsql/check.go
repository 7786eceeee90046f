package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/parser/tree"
)

func (a *app) explainCommand() *cobra.Command {
	var upgrade bool
	var savepoint, format string
	c := &cobra.Command{
		Use: "explain FILE.sql", Short: "print the plan of a job file",
		Long: "Prints the plan of a job file and the guarantee that it gives. Nothing is connected to, and ${NAME} in\n" +
			"WITH (…) need not be defined.\n\n" +
			"With --upgrade it prints what would become of the job's state if the file were run now, over its last\n" +
			"checkpoint or over a savepoint.",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			as, ok := explainFormats[format]
			if !ok {
				return usageError{errors.New("--format must be text, json, dot or mermaid")}
			}
			o, err := a.options()
			if err != nil {
				return err
			}
			o.PlanOnly = true
			return a.withOptions(c.Context(), o, func(e *engine.Engine) error {
				f, err := a.load(e, args[0])
				if err != nil {
					return err
				}
				var text string
				if upgrade || savepoint != "" {
					if savepoint != "" {
						savepoint = e.SavepointPath(savepoint)
					}
					text, err = e.ExplainUpgrade(c.Context(), f.File, savepoint)
				} else {
					text, err = e.Explain(f.File, as)
				}
				if err != nil {
					return a.show(err, f.src, exitUsage)
				}
				_, err = fmt.Fprint(a.stdout, text)
				return err
			})
		},
	}
	c.Flags().StringVar(&format, "format", "text", "how the plan is shown: `text`, json, dot or mermaid")
	c.Flags().BoolVar(&upgrade, "upgrade", false, "compare with the state of the job's last checkpoint")
	c.Flags().StringVar(&savepoint, "from-savepoint", "", "compare with the state of the savepoint at this `path`")
	return c
}

var explainFormats = map[string]tree.ExplainFormat{
	"text": tree.ExplainText, "json": tree.ExplainJSON, "dot": tree.ExplainDot, "mermaid": tree.ExplainMermaid,
}

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE.sql", Short: "plan a job file and check its connectors, run nothing",
		Long: "Parses and plans a job file and asks its connectors whether the real tables and streams are there and\n" +
			"fit what is declared. Nothing is read, written or claimed.",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, stop := untilSignal(c.Context())
			defer stop()
			return a.withEngine(ctx, func(e *engine.Engine) error {
				f, err := a.load(e, args[0])
				if err != nil {
					return err
				}
				if err := e.Check(ctx, f.File); err != nil {
					return a.show(err, f.src, exitOf(err))
				}
				_, err = fmt.Fprintf(a.stdout, "%s: ok\n", args[0])
				return err
			})
		},
	}
}
