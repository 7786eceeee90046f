package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/chzyer/readline"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/parser"
)

const (
	promptFirst = "streamsql> "
	promptMore  = "       ...> "
)

// Prompt reads statements from the terminal until \q or the end of input. Ctrl-C ends
// the line or the running query, never the program.
func Prompt(ctx context.Context, o Options) error {
	sh := newShell(o, true)
	defer sh.closeOut()
	if o.History != "" {
		_ = os.MkdirAll(filepath.Dir(o.History), 0o700)
	}
	rl, err := readline.NewEx(&readline.Config{
		Prompt:                 promptFirst,
		HistoryFile:            o.History,
		DisableAutoSaveHistory: true,
		AutoComplete:           &completer{sh},
		InterruptPrompt:        "^C",
		EOFPrompt:              `\q`,
	})
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	defer rl.Close()
	fmt.Fprintf(o.Out, "streamsql %s. Statements end with a semicolon; \\? lists the commands, \\q quits.\n", engine.Version)
	var buf strings.Builder
	for ctx.Err() == nil {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			buf.Reset()
			rl.SetPrompt(promptFirst)
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if strings.TrimSpace(buf.String()) == "" && strings.HasPrefix(strings.TrimSpace(line), `\`) {
			_ = rl.SaveHistory(line)
			err := sh.interruptible(ctx, func(ctx context.Context) error { return sh.meta(ctx, strings.TrimSpace(line)) })
			if err := sh.report(err, ""); errors.Is(err, errQuit) {
				return nil
			}
			continue
		}
		buf.WriteString(line)
		buf.WriteByte('\n')
		text := buf.String()
		if strings.TrimSpace(text) == "" {
			buf.Reset()
			continue
		}
		if parser.Incomplete(text) {
			rl.SetPrompt(promptMore)
			continue
		}
		buf.Reset()
		rl.SetPrompt(promptFirst)
		_ = rl.SaveHistory(strings.Join(strings.Fields(text), " "))
		err = sh.interruptible(ctx, func(ctx context.Context) error { return sh.run(ctx, text) })
		if errors.Is(err, errQuit) {
			return nil
		}
	}
	return nil
}

// interruptible runs do so that Ctrl-C ends it alone.
func (sh *shell) interruptible(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return do(ctx)
}

// clock starts \timing's stop-watch.
func (sh *shell) clock() (done func()) {
	if !sh.timing {
		return func() {}
	}
	start := time.Now()
	return func() { fmt.Fprintf(sh.out, "Time: %.3f ms\n", float64(time.Since(start).Microseconds())/1000) }
}

// IsTerminal reports that w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && readline.IsTerminal(int(f.Fd()))
}
