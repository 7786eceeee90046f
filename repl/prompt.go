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

	"github.com/chzyer/readline"

	"github.com/streamsql/streamsql/engine"
)

const (
	promptFirst = "streamsql> "
	promptMore  = "       ...> "
)

// HistoryFile is where lines typed at the prompt are kept.
func HistoryFile(dataDir string) string { return filepath.Join(dataDir, "history") }

// Prompt reads statements from the terminal until \q, the end of input or of ctx.
// Ctrl-C ends the line or the running statement, never the program.
func Prompt(ctx context.Context, o Options) error {
	sh := newShell(o, true)
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, os.Interrupt)
	defer signal.Stop(sigs)
	rl, err := readline.NewEx(&readline.Config{
		Prompt:                 promptFirst,
		HistoryFile:            openHistory(o.History),
		DisableAutoSaveHistory: true,
		AutoComplete:           &completer{sh},
		InterruptPrompt:        "^C",
		EOFPrompt:              `\q`,
	})
	if err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	defer rl.Close()
	defer context.AfterFunc(ctx, func() { _ = rl.Close() })()
	fmt.Fprintf(o.Out, "streamsql %s. Statements end with a semicolon; \\? or help lists the commands, \\q or quit ends the prompt.\n", engine.Version)
	for ctx.Err() == nil {
		if err := sh.ended(); err != nil {
			return errors.Join(err, sh.closeOut())
		}
		rl.SetPrompt(promptFirst)
		if sh.pending != "" {
			rl.SetPrompt(promptMore)
		}
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			sh.pending = ""
			continue
		case errors.Is(err, io.EOF):
			return sh.closeOut()
		case err != nil:
			return errors.Join(err, sh.closeOut())
		}
		do := sh.typed(line, func(entry string) { _ = rl.SaveHistory(entry) })
		if do == nil {
			continue
		}
		if err := interruptible(ctx, sigs, do); err != nil {
			return errors.Join(ignoreQuit(err), sh.closeOut())
		}
	}
	return sh.closeOut()
}

// typed takes one line and gives what there is to do, nil while a statement goes on.
func (sh *shell) typed(line string, save func(entry string)) func(context.Context) error {
	if c := commandOf(line); c != "" && sh.pending == "" {
		save(strings.TrimSpace(line))
		return func(ctx context.Context) error { return sh.report(sh.meta(ctx, c), source{}) }
	}
	sh.pending += line + "\n"
	text := sh.pending
	if strings.TrimSpace(text) != "" && incomplete(text) {
		return nil
	}
	sh.pending = ""
	if strings.TrimSpace(text) == "" {
		return nil
	}
	for _, entry := range historyEntries(text) {
		save(entry)
	}
	return func(ctx context.Context) error { return sh.run(ctx, text, 0) }
}

// openHistory makes the file, which only the user may read: statements have secrets in
// them. "" when there can be none.
func openHistory(path string) string {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return ""
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil || f.Close() != nil {
		return ""
	}
	return path
}

// interruptible runs do so that Ctrl-C ends it alone.
func interruptible(ctx context.Context, sigs <-chan os.Signal, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	select {
	case <-sigs: // one that came between two statements
	default:
	}
	go func() {
		select {
		case <-sigs:
			cancel()
		case <-ctx.Done():
		}
	}()
	return do(ctx)
}

// IsTerminal reports that w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && readline.IsTerminal(int(f.Fd()))
}
