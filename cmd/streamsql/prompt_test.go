package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// terminal is the program at a prompt on a pseudo-terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	out  output
	seen int // bytes of its text up to what was waited for
	done chan error
}

func (p *place) terminal(args ...string) *terminal {
	p.t.Helper()
	x := &terminal{t: p.t, cmd: exec.Command(binary, args...), done: make(chan error, 1)}
	x.cmd.Dir, x.cmd.Env = p.dir, append(p.env, "TERM=xterm")
	tty, err := pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 40, Cols: 150})
	if err != nil {
		p.t.Fatal(err)
	}
	x.tty = tty
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			_, _ = x.out.Write(buf[:n])
			if err != nil {
				return // the program has ended
			}
		}
	}()
	go func() {
		err := x.cmd.Wait()
		<-read
		x.done <- err
	}()
	p.t.Cleanup(func() {
		_ = x.cmd.Process.Kill()
		tty.Close()
	})
	return x
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// text is what came after what was waited for, without the terminal's control sequences.
func (x *terminal) text() string {
	return strings.ReplaceAll(escapes.ReplaceAllString(x.out.String(), ""), "\r", "")[x.seen:]
}

// wait waits until the terminal shows a text after the one waited for before.
func (x *terminal) wait(text string) {
	x.t.Helper()
	defer func() {
		if x.t.Failed() {
			x.t.Logf("waiting for %q the terminal shows\n%q", text, x.text())
		}
	}()
	eventually(x.t, "output "+text, func() bool { return strings.Contains(x.text(), text) })
	x.seen += strings.Index(x.text(), text) + len(text)
}

func (x *terminal) send(keys string) {
	x.t.Helper()
	if _, err := x.tty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the program's end.
func (x *terminal) end() int {
	x.t.Helper()
	var err error
	eventually(x.t, "end", func() bool {
		select {
		case err = <-x.done:
			return true
		default:
			return false
		}
	})
	return exitCode(x.t, err)
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
	tab   = "\t"
)

// TestPrompt types at a terminal.
func TestPrompt(t *testing.T) {
	p := newPlace(t)
	x := p.terminal("--data-dir", "d")
	x.wait("streamsql> ")
	// A statement of several lines has another prompt.
	x.send("SELECT 1 +\r")
	x.wait("...> ")
	x.send("  41 AS answer;\r")
	x.wait("42")
	x.wait("streamsql> ")
	// Ctrl-C gives up the lines typed so far.
	x.send("SELECT 'not\r")
	x.wait("...> ")
	x.send(ctrlC)
	x.wait("streamsql> ")
	x.send("SELECT nothing;\r")
	x.wait(`ERROR: column "nothing" does not exist`)
	x.wait("streamsql> ")
	// A tab completes.
	x.send("SEL" + tab + "7 * 6 AS six;\r")
	x.wait("42")
	x.wait("streamsql> ")
	x.send("CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '200', 'fields.id.kind' = 'sequence');\r")
	x.wait("\nCREATE TABLE")
	x.wait("streamsql> ")
	// A live result goes on until Ctrl-C, which is not the end of the program.
	x.send("SELECT id % 2 AS parity, COUNT(*) AS n FROM g GROUP BY id % 2;\r")
	x.wait("parity")
	x.wait("2 rows in the result")
	x.wait("2 rows in the result")
	x.send(ctrlC)
	x.wait("cancelled")
	x.wait("streamsql> ")
	// So does one that never takes back.
	x.send("SELECT id FROM g;\r")
	x.wait(" id ")
	x.send(ctrlC)
	x.wait("cancelled")
	x.wait("streamsql> ")
	// Jobs go on behind the prompt.
	x.send("CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole'); INSERT INTO b SELECT id FROM g;\r")
	x.wait(`INSERT: job "job-1" runs in the background`)
	x.wait("streamsql> ")
	x.send("\\jobs\r")
	x.wait("running")
	x.wait("streamsql> ")
	x.send("\\q\r")
	if code := x.end(); code != 0 || !strings.Contains(x.text(), "stopping one job after a last checkpoint") {
		t.Fatalf("exit code %d after %q", code, x.text())
	}
	// The next run has the lines of the last.
	x = p.terminal("--data-dir", "d")
	x.wait("streamsql> ")
	x.send(strings.Repeat(up, 9) + "\r")
	x.wait("SELECT 1 + 41 AS answer;")
	x.wait("42")
	x.wait("streamsql> ")
	x.send(ctrlD)
	if code := x.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if info, err := os.Stat(filepath.Join(p.dir, "d", "history")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history: %v, %v", info, err)
	}
}

// TestPromptTerminated: SIGTERM ends the prompt and its jobs after a last checkpoint.
func TestPromptTerminated(t *testing.T) {
	p := newPlace(t)
	x := p.terminal("--data-dir", "d")
	x.wait("streamsql> ")
	x.send("CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', rate = '200'); CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');\r")
	x.wait("streamsql> ")
	x.send("SET 'checkpoint.interval' = '1h'; INSERT INTO b SELECT id FROM g;\r")
	x.wait("runs in the background")
	x.wait("streamsql> ")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := x.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if list := p.run("", "checkpoint", "list", "--data-dir", "d").out; !strings.Contains(list, "stopped") {
		t.Errorf("checkpoints\n%s", list)
	}
}
