package repl

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/parser"
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
		{`\timing`, "", "turn the time of each statement on or off", func(sh *shell, _ context.Context, _ string) error {
			return sh.toggle(&sh.timing, "Timing")
		}},
		{`\x`, "", "turn one column a line on or off", func(sh *shell, _ context.Context, _ string) error {
			return sh.toggle(&sh.expanded, "Expanded display")
		}},
		{`\o`, "[file]", "send results to a file, or back to the screen", (*shell).redirect},
		{`\i`, "file", "run the statements of a file", (*shell).include},
		{`\watch`, "seconds statement", "run a statement again and again until Ctrl-C", (*shell).watch},
		{`\?`, "", "list these commands", (*shell).help},
		{`\q`, "", "quit", func(*shell, context.Context, string) error { return errQuit }},
	}
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

// statement runs one statement of the prompt's own making.
func (sh *shell) statement(ctx context.Context, text string) error {
	script, err := sh.session.Parse(text)
	if err != nil {
		return err
	}
	return sh.exec(ctx, script, 0)
}

func (sh *shell) toggle(v *bool, what string) error {
	*v = !*v
	state := "off"
	if *v {
		state = "on"
	}
	fmt.Fprintf(sh.out, "%s is %s.\n", what, state)
	return nil
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
	sh.closeOut()
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "cannot write %q", path)
	}
	sh.outFile, sh.out = f, f
	return nil
}

func (sh *shell) include(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "cannot read %q", path)
	}
	return sh.script(ctx, string(text))
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
		fmt.Fprintf(sh.out, "%s\n", time.Now().Format("15:04:05"))
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
	return sh.printer().Table([]string{"command", "what it does"}, rows)
}

// quoteName spells a name so that it is found again.
func quoteName(n string) string {
	if strings.ToLower(n) == n && !strings.ContainsAny(n, " .\"'-") {
		return n
	}
	return parser.QuoteIdent(n)
}
