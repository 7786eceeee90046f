package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamsql/streamsql/engine"
)

// app is the program's flags and streams.
type app struct {
	stdin          *os.File
	stdout, stderr io.Writer

	dataDir     string
	nats        string
	vars        []string
	sets        []string
	parallelism int
	verbose     bool
	format      string
}

func (a *app) root() *cobra.Command {
	var command string
	var files []string
	var stopOnError bool
	c := &cobra.Command{
		Use:   "streamsql",
		Short: "SQL over streams: NATS JetStream in, PostgreSQL out, exactly once",
		Long: "SQL over streams: NATS JetStream in, PostgreSQL out, exactly once.\n\n" +
			"Without a command streamsql opens a prompt on an embedded engine and NATS server; statements may\n" +
			"also come from -c, from files with -f, or from a pipe.\n\n" +
			"Results go to standard output, everything else to standard error. The exit code is 0 when all went\n" +
			"well, 1 when something failed while it ran, 2 for wrong usage or an error in the SQL text. Of a pipe\n" +
			"and of -f it is 0 after errors in statements, which are passed over, unless --stop-on-error is given.",
		Example: "  streamsql\n" +
			"  streamsql -c \"SELECT 1 AS one\" --format csv\n" +
			"  streamsql run job.sql --var POSTGRES_URL=postgres://me@localhost/mydb",
		Args:          usageArgs(cobra.NoArgs),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("command") {
				if len(files) > 0 {
					return usageError{fmt.Errorf("-c and -f exclude each other")}
				}
				return a.script(c.Context(), strings.NewReader(command), true)
			}
			return a.prompt(c.Context(), files, stopOnError)
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	c.SetOut(a.stdout)
	c.SetErr(a.stderr)
	p := c.PersistentFlags()
	p.StringVar(&a.dataDir, "data-dir", "", "`directory` of checkpoints and embedded streams (default: in the user's state directory)")
	p.StringVar(&a.nats, "nats", "", "`url` of a NATS server in place of the embedded one")
	p.StringArrayVar(&a.vars, "var", nil, "`NAME=value` for ${NAME}, may be repeated")
	p.StringArrayVar(&a.sets, "set", nil, "`key=value` as SET does, may be repeated")
	p.IntVar(&a.parallelism, "parallelism", 0, "`number` of subtasks of what can be split (default: that of CPUs)")
	p.BoolVar(&a.verbose, "verbose", false, "log what the engine does to standard error")
	p.StringVar(&a.format, "format", "", "how rows are printed: `table`, csv, json or changelog")
	f := c.Flags()
	f.StringVarP(&command, "command", "c", "", "run these `statements` and exit, at the first error too")
	f.StringArrayVarP(&files, "file", "f", nil, "run the statements of a file as the prompt would and exit, may be repeated; - is standard input")
	f.BoolVar(&stopOnError, "stop-on-error", false, "end at the first error when statements come from a pipe or file")
	c.AddCommand(a.runCommand(), a.demoCommand(), a.explainCommand(), a.checkCommand(),
		a.savepointCommand(), a.checkpointCommand(), a.versionCommand())
	return c
}

func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version", Args: usageArgs(cobra.NoArgs),
		Run: func(*cobra.Command, []string) { fmt.Fprintln(a.stdout, "streamsql", engine.Version) },
	}
}

// stateDir is where data lies when --data-dir is not given.
func stateDir() (string, error) {
	if d := os.Getenv("XDG_STATE_HOME"); d != "" {
		return filepath.Join(d, "streamsql"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usageError{fmt.Errorf("no home directory: name one with --data-dir")}
	}
	return filepath.Join(home, ".local", "state", "streamsql"), nil
}

// options turns the flags into the engine's options.
func (a *app) options() (engine.Options, error) {
	o := engine.Options{DataDir: a.dataDir, NATSURL: a.nats, Parallelism: a.parallelism, Stdout: a.stdout, Format: a.format}
	if a.parallelism < 0 {
		return o, usageError{fmt.Errorf("--parallelism must be at least 1")}
	}
	switch a.format {
	case "", "table", "csv", "json", "changelog":
	default:
		return o, usageError{fmt.Errorf("--format must be table, csv, json or changelog, not %q", a.format)}
	}
	var err error
	if o.Vars, err = pairs("--var", a.vars); err != nil {
		return o, err
	}
	if o.Settings, err = pairs("--set", a.sets); err != nil {
		return o, err
	}
	if o.DataDir == "" {
		if o.DataDir, err = stateDir(); err != nil {
			return o, err
		}
	}
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	o.Log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	return o, nil
}

func pairs(flag string, list []string) (map[string]string, error) {
	out := make(map[string]string, len(list))
	for _, x := range list {
		k, v, ok := strings.Cut(x, "=")
		if !ok || k == "" {
			return nil, usageError{fmt.Errorf("%s wants name=value, not %q", flag, x)}
		}
		if _, dup := out[k]; dup {
			return nil, usageError{fmt.Errorf("%s %s is given twice", flag, k)}
		}
		out[k] = v
	}
	return out, nil
}
