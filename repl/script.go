package repl

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// Script runs the statements of in as they come, as from a pipe. It returns a
// *StoppedError when an error ended it, and ctx's error when that did.
func Script(ctx context.Context, o Options, in io.Reader) error {
	sh := newShell(o, false)
	err := sh.script(ctx, in)
	if err == nil {
		err = sh.ended()
	}
	if cerr := sh.closeOut(); err == nil {
		err = cerr
	}
	return err
}

// script runs statements, and commands, which stand on lines of their own.
func (sh *shell) script(ctx context.Context, in io.Reader) error {
	var buf strings.Builder
	first, n := 0, 0 // lines before the statement in buf, and before this one
	for line, err := range readLines(ctx, in) {
		if err != nil {
			return err
		}
		if n++; n == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // some editors begin files with it
		}
		if c := commandOf(line); c != "" && len(split(buf.String())) == 0 {
			if err := sh.report(sh.meta(ctx, c), source{}); err != nil {
				return ignoreQuit(err)
			}
			buf.Reset()
			first = n
			continue
		}
		buf.WriteString(line)
		if !strings.Contains(line, ";") || incomplete(buf.String()) {
			continue
		}
		if err := sh.run(ctx, buf.String(), first); err != nil {
			return ignoreQuit(err)
		}
		buf.Reset()
		first = n
	}
	if strings.TrimSpace(buf.String()) != "" {
		return ignoreQuit(sh.run(ctx, buf.String(), first))
	}
	return nil
}

func ignoreQuit(err error) error {
	if errors.Is(err, errQuit) {
		return nil
	}
	return err
}

// readLines gives the lines of in with their ends, and at last an error that is not
// io.EOF. The end of ctx ends it; then a goroutine may stay behind in a Read that
// never returns.
func readLines(ctx context.Context, in io.Reader) func(yield func(string, error) bool) {
	type line struct {
		text string
		err  error
	}
	return func(yield func(string, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		lines := make(chan line)
		go func() {
			defer close(lines)
			r := bufio.NewReader(in)
			for err := error(nil); err == nil; {
				var l line
				l.text, err = r.ReadString('\n')
				if err != nil && err != io.EOF {
					l.err = err
				}
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case l, ok := <-lines:
				if !ok || l.text != "" && !yield(l.text, nil) {
					return
				}
				if l.err != nil {
					yield("", l.err)
					return
				}
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			}
		}
	}
}
