package repl

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// command is one backslash command.
type command struct {
	name, args, doc string
	run             func(sh *shell, ctx context.Context, arg string) error
}

// commands lists the backslash commands in the order of \?.
func commands() []command {
	statement := func(text string) func(*shell, context.Context, string) error {
		return func(sh *shell, ctx context.Context, _ string) error { return sh.statement(ctx, text) }
	}
	return []command{
		{`\d`, "[name]", "list tables and views, or describe one", (*shell).describe},
		{`\dt`, "", "list tables", statement("SHOW TABLES")},
		{`\dv`, "", "list views", statement("SHOW VIEWS")},
		{`\df`, "", "list functions", statement("SHOW FUNCTIONS")},
		{`\jobs`, "", "list jobs", statement("SHOW JOBS")},
		{`\timing`, "[on|off]", "show the time of each statement, or no longer", func(sh *shell, _ context.Context, arg string) error {
			return sh.toggle(&sh.timing, "Timing", arg)
		}},
		{`\x`, "[on|off]", "print one column a line, or no longer", func(sh *shell, _ context.Context, arg string) error {
			return sh.toggle(&sh.expanded, "Expanded display", arg)
		}},
		{`\o`, "[file]", "send results to a file, or back to the screen", (*shell).redirect},
		{`\i`, "file", "run the statements of a file", (*shell).include},
		{`\watch`, "seconds statement", "run a statement again and again until Ctrl-C", (*shell).watch},
		{`\?`, "", "list these commands", (*shell).help},
		{`\q`, "", "quit", func(*shell, context.Context, string) error { return errQuit }},
	}
}

// commandOf gives the backslash command that a line is, "" for none. The words help, quit
// and exit are commands too when nothing else is on the line.
func commandOf(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, `\`) {
		return line
	}
	switch strings.ToLower(strings.TrimRight(line, "; \t")) {
	case "help":
		return `\?`
	case "quit", "exit":
		return `\q`
	}
	return ""
}

// meta runs a backslash command.
func (sh *shell) meta(ctx context.Context, line string) error {
	line = strings.TrimSuffix(strings.TrimSpace(line), ";")
	name, arg, _ := strings.Cut(line, " ")
	var names []string
	for _, c := range commands() {
		if c.name == name {
			return c.run(sh, ctx, strings.TrimSpace(arg))
		}
		names = append(names, c.name)
	}
	e := sqlerr.New(sqlerr.CodeSyntax, 0, "there is no command %s", name)
	if n := sqlerr.Nearest(name, names); n != "" {
		return e.WithHint("did you mean %s?", n)
	}
	return e.WithHint(`\? lists the commands.`)
}

func (sh *shell) toggle(v *bool, what, arg string) error {
	switch arg {
	case "":
		*v = !*v
	case "on", "off":
		*v = arg == "on"
	default:
		return sqlerr.New(sqlerr.CodeSyntax, 0, "on or off is wanted, not %q", arg)
	}
	state := "off"
	if *v {
		state = "on"
	}
	return sh.note(what + " is " + state + ".")
}

func (sh *shell) describe(ctx context.Context, name string) error {
	if name != "" {
		return sh.statement(ctx, "DESCRIBE "+name)
	}
	if err := sh.statement(ctx, "SHOW TABLES"); err != nil {
		return err
	}
	if len(sh.session.Catalog().Views()) == 0 {
		return nil
	}
	return sh.statement(ctx, "SHOW VIEWS")
}

func (sh *shell) redirect(_ context.Context, path string) error {
	if err := sh.closeOut(); err != nil {
		return sqlerr.Externalf(sqlerr.CodeConnection, err, "write output")
	}
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fileError(err, "write", path)
	}
	sh.outFile, sh.out = f, f
	return nil
}

func fileError(err error, act, path string) error {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "cannot %s file %q: %v", act, path, err)
}

// maxDepth bounds files that include one another.
const maxDepth = 20

func (sh *shell) include(ctx context.Context, path string) error {
	if path == "" {
		return sqlerr.New(sqlerr.CodeSyntax, 0, `\i wants a file`)
	}
	if sh.depth == maxDepth {
		return sqlerr.New(sqlerr.CodeTooComplex, 0, "more than %d files include one another", maxDepth)
	}
	f, err := os.Open(path)
	if err != nil {
		return fileError(err, "read", path)
	}
	defer f.Close()
	sh.depth++
	defer func() { sh.depth-- }()
	return sh.script(ctx, f)
}

func (sh *shell) watch(ctx context.Context, arg string) error {
	every, text, _ := strings.Cut(arg, " ")
	d, err := time.ParseDuration(every)
	if err != nil {
		d, err = time.ParseDuration(every + "s")
	}
	if err != nil || d < 100*time.Millisecond || strings.TrimSpace(text) == "" {
		return sqlerr.New(sqlerr.CodeSyntax, 0, `\watch wants seconds and a statement`).WithHint(`As in: \watch 2 SHOW JOBS`)
	}
	for {
		if err := sh.println(time.Now().Format("15:04:05")); err != nil {
			return err
		}
		if err := sh.statement(ctx, text); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d):
		}
	}
}

func (sh *shell) help(context.Context, string) error {
	var rows [][]string
	for _, c := range commands() {
		rows = append(rows, []string{strings.TrimSpace(c.name + " " + c.args), c.doc})
	}
	err := sh.printer().Table([]string{"command", "what it does"}, rows)
	if err == nil && sh.interactive {
		err = sh.note(`On a line of its own, help is \?, and quit and exit are \q.`)
	}
	return err
}
