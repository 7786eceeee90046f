package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "streamsql-cmd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "streamsql")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	code := 1
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// place is a working directory for runs of the program.
type place struct {
	t   *testing.T
	dir string
	env []string
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir()}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "HOME" && name != "XDG_STATE_HOME" && !strings.HasPrefix(name, "PG") {
			p.env = append(p.env, v)
		}
	}
	p.env = append(p.env, "XDG_STATE_HOME="+filepath.Join(p.dir, "state"))
	return p
}

// write writes a file and gives its path.
func (p *place) write(name string, lines ...string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// append adds lines to a file.
func (p *place) append(name string, lines ...string) {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// output is what a program has printed so far.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// result is what a run of the program gave.
type result struct {
	code     int
	out, err string
}

func (p *place) command(stdin string, args ...string) (cmd *exec.Cmd, out, errs *output) {
	cmd = exec.Command(binary, args...)
	out, errs = &output{}, &output{}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.dir, p.env, strings.NewReader(stdin), out, errs
	return cmd, out, errs
}

func (p *place) run(stdin string, args ...string) result {
	p.t.Helper()
	cmd, out, errs := p.command(stdin, args...)
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	return result{exitCode(p.t, cmd.Run()), out.String(), errs.String()}
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

const (
	declared = `CREATE TABLE g (id BIGINT, v INT) WITH (connector = 'generator', kind = 'columns', rows = '3', 'fields.id.kind' = 'sequence', 'fields.v.kind' = 'sequence');`
	bounded  = declared + `
CREATE TABLE o (id BIGINT) WITH (connector = 'file', path = 'out', format = 'csv');
INSERT INTO o SELECT id FROM g;`
)

// TestExitCodes runs commands: their exit code, all of standard output, and a part of
// standard error.
func TestExitCodes(t *testing.T) {
	p := newPlace(t)
	p.write("ok.sql", declared, "SELECT id, v * 2 AS w FROM g WHERE id > ${MIN};")
	p.write("two.sql", declared, "SELECT COUNT(*) AS n FROM g; SELECT 'x' AS s;")
	p.write("bounded.sql", bounded)
	p.write("dead.sql", declared, "CREATE TABLE b (id BIGINT) WITH (connector = 'blackhole');", "INSERT INTO b SELECT 1 / (id - 1) FROM g;")
	p.write("print.sql", declared, "CREATE TABLE c (id BIGINT) WITH (connector = 'console');", "CREATE TABLE j (id BIGINT) WITH (connector = 'console', format = 'json');",
		"INSERT INTO c SELECT id FROM g WHERE id = 1;")
	p.write("in.json", `{"v":1,"ts":"2024-01-01 00:00:01"}`, `{"v":2,"ts":"2024-01-01 00:00:21"}`, `{"v":3,"ts":"2024-01-01 00:00:02"}`)
	p.write("broken.json", `{"v":1}`, `nonsense`)
	p.write("letters.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'broken.json', format = 'json', 'on.error' = 'dead-letter', 'dead-letter.table' = 'l');",
		"CREATE TABLE l (payload BYTES) WITH (connector = 'blackhole'); CREATE TABLE c (v BIGINT) WITH (connector = 'console');", "INSERT INTO c SELECT v FROM i;")
	p.write("skip.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'broken.json', format = 'json', 'on.error' = 'skip');", "CREATE TABLE c (v BIGINT) WITH (connector = 'console');", "INSERT INTO c SELECT v FROM i;")
	p.write("late.sql", "CREATE TABLE i (v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (connector = 'file', path = 'in.json', format = 'json');", "SELECT COUNT(*) AS n FROM TUMBLE(i, ts, INTERVAL '10' SECOND) GROUP BY window_start, window_end;")
	p.write("bad.sql", "SELECT 1;", "SELECT nothing")
	p.write("away.sql", "CREATE TABLE p (id BIGINT PRIMARY KEY) WITH (connector = 'postgres', url = 'postgres://u@127.0.0.1:1/d', table = 'p');", "INSERT INTO p VALUES (1)")
	p.write("secret.sql", "CREATE TABLE p (id BIGINT PRIMARY KEY) WITH (connector = 'postgres', url = '${DSN_OF_NOBODY}');", "INSERT INTO p VALUES (1)")
	p.write("missing.sql", "CREATE TABLE n (id BIGINT) WITH (connector = 'nats', stream = 'NOSUCH', format = 'json', 'end' = 'now');", "SELECT * FROM n")
	for _, c := range []struct {
		args     string
		stdin    string
		code     int
		out, err string
	}{
		{"version", "", 0, "streamsql 0.1.0\n", ""},
		{"nosuch", "", 2, "", `unknown command "nosuch" for "streamsql"; see streamsql --help`},
		{"--nosuch", "", 2, "", "unknown flag: --nosuch"},
		{"savepoint nosuch", "", 2, "", "see streamsql savepoint --help"},
		{"savepoint create", "", 2, "", "see streamsql savepoint create --help"},
		{"version --format xml", "", 0, "streamsql 0.1.0\n", ""},
		{"run ok.sql --format xml", "", 2, "", "--format must be table, csv, json or changelog"},
		{"run ok.sql --var MIN", "", 2, "", "--var wants name=value"},
		{"run ok.sql --var MIN=1 --var MIN=2", "", 2, "", "--var MIN is given twice"},
		{"run ok.sql --set nosuch=1 --var MIN=1", "", 2, "", `there is no setting "nosuch"`},
		{"run ok.sql --parallelism -1", "", 2, "", "--parallelism must be at least 1"},
		{"run ok.sql --fresh --continue", "", 2, "", "--continue goes on with a finished job"},
		{"run ok.sql", "", 2, "", `variable "MIN" is not defined`},
		{"run nosuch.sql", "", 2, "", "nosuch.sql: no such file or directory"},
		{"run ok.sql --var MIN=0", "", 0, "id,w\n1,2\n2,4\n", ""},
		{"run ok.sql --var MIN=0 --parallelism 2 --set checkpoint.interval=50ms --format json", "", 0, `{"id":1,"w":2}` + "\n" + `{"id":2,"w":4}` + "\n", ""},
		{"run ok.sql --var MIN=1 --format table", "", 0, " id | w \n----+---\n  2 | 4\n(1 row)\n", ""},
		{"run ok.sql --var MIN=1 --format changelog", "", 0, " op | id | w \n----+----+---\n +I |  2 | 4\n(1 row)\n", ""},
		{"run print.sql --format csv", "", 0, "op,id\n+I,1\n", "streamsql: job \"print\" finished: 3 rows in, 1 rows out, 2 checkpoints\n"},
		{"run print.sql --fresh", "", 0, " op | id \n----+----\n +I |  1\n", "finished: 3 rows in, 1 rows out"},
		{"run skip.sql --format csv", "", 0, "op,v\n+I,1\n", "streamsql: job \"skip\" dropped rows: 0 late, 1 broken"},
		{"run letters.sql --format csv", "", 0, "op,v\n+I,1\n", "streamsql: job \"letters\" put rows aside: 1 dead letters\nstreamsql: job \"letters\" finished: 1 rows in, 1 rows out"},
		{"run late.sql", "", 0, "n\n1\n1\n", "streamsql: the query dropped rows: 1 late, 0 broken"},
		{"run -", "\ufeffSELECT 1 AS one;", 0, "one\n1\n", ""},
		{"--format csv", "\ufeffSELECT 1 AS one;", 0, "one\n1\n", ""},
		{"run two.sql", "", 0, "n\n3\ns\nx\n", ""},
		{"run -", "SELECT 1 AS one;", 0, "one\n1\n", ""},
		{"run bad.sql", "", 2, "?column?\n1\n", "column \"nothing\" does not exist\nLINE 2: SELECT nothing\n               ^"},
		{"run dead.sql", "", 1, "", "division by zero"},
		{"run away.sql", "", 1, "", "connect to PostgreSQL"},
		{"run missing.sql", "", 2, "", `"NOSUCH"`},
		{"explain bounded.sql", "", 0, "…guarantee: exactly once…", ""},
		{"explain bounded.sql --format mermaid", "", 0, "…flowchart TD\n  n0[\"source…", ""},
		{"explain bounded.sql --format xml", "", 2, "", "--format must be text, json, dot or mermaid"},
		{"explain secret.sql", "", 0, "…guarantee: exactly once…", ""},
		{"check secret.sql", "", 2, "", `variable "DSN_OF_NOBODY" is not defined`},
		{"explain ok.sql", "", 2, "", `variable "MIN" is not defined`},
		{"explain bad.sql", "", 2, "", "LINE 2: SELECT nothing"},
		{"check bounded.sql", "", 0, "bounded.sql: ok\n", ""},
		{"check bad.sql", "", 2, "", "LINE 2: SELECT nothing"},
		{"check away.sql", "", 1, "", "connect to PostgreSQL"},
		{"-c SELECT§1§AS§a;§SELECT§2§AS§b --format csv", "", 0, "a\n1\nb\n2\n", ""},
		{"-c SELECT§nothing;SELECT§1", "", 2, "", "LINE 1: SELECT nothing"},
		{"-c SELECT§1/0", "", 1, "", "division by zero"},
		{"-c  -f bad.sql", "", 2, "", "-c and -f exclude each other"},
		{"-f nosuch.sql", "", 2, "", "no such file"},
		{"-f bad.sql --format csv", "", 0, "?column?\n1\n", "LINE 2: SELECT nothing"},
		{"-f bad.sql --stop-on-error", "", 2, "…1…", "LINE 2: SELECT nothing"},
		{"--format csv", "SELECT 1 AS a;\nSELECT nothing;\nSELECT 2 AS b", 0, "a\n1\nb\n2\n", "LINE 2: SELECT nothing"},
		{"--format csv --stop-on-error", "SELECT 1 AS a;\nSELECT nothing;\nSELECT 2 AS b", 2, "a\n1\n", "LINE 2: SELECT nothing"},
		{"savepoint list", "", 0, " path | job | epoch | attempt | bytes | created | kind \n------+-----+-------+---------+-------+---------+------\n(0 rows)\n", ""},
		{"savepoint list --format csv", "", 0, "path,job,epoch,attempt,bytes,created,kind\n", ""},
		{"checkpoint list --data-dir nothing --format csv", "", 0, "job,epoch,attempt,bytes,created,kind\n", ""},
		{"savepoint create nosuch", "", 2, "", `there is no job "nosuch"`},
		{"savepoint inspect nosuch", "", 2, "", "there is no savepoint at"},
		{"savepoint drop nosuch", "", 2, "", "there is no savepoint at"},
		{"checkpoint inspect nosuch", "", 2, "", `there is no job "nosuch"`},
		{"completion bash", "", 0, "…__start_streamsql…", ""},
	} {
		args := strings.Split(c.args, " ")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "§", " ")
		}
		got := p.run(c.stdin, args...)
		out := got.out == c.out
		if part, ok := strings.CutPrefix(c.out, "…"); ok {
			out = strings.Contains(got.out, strings.TrimSuffix(part, "…"))
		}
		if got.code != c.code || !out || !strings.Contains(got.err, c.err) || c.err == "" && got.err != "" {
			t.Errorf("streamsql %s: exit code %d, want %d\nstandard output\n%s\nwant\n%s\nstandard error\n%s\nwant\n%s", c.args, got.code, c.code, got.out, c.out, got.err, c.err)
		}
	}
}

// TestHelp: every command explains itself, on standard output.
func TestHelp(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct{ args, want string }{
		{"--help", "Without a command streamsql opens a prompt"},
		{"run --help", "goes on from the last"},
		{"demo --help", "Nexmark"},
		{"explain --help", "guarantee"},
		{"check --help", "Nothing is read, written or claimed"},
		{"savepoint --help", "create"},
		{"savepoint", "create"},
		{"savepoint create --help", "confirmed"},
		{"checkpoint --help", "verify"},
		{"completion --help", "zsh"},
	} {
		if got := p.run("", strings.Fields(c.args)...); got.code != 0 || got.err != "" || !strings.Contains(got.out, c.want) {
			t.Errorf("streamsql %s: %+v", c.args, got)
		}
	}
}

// TestNoHome: without a home directory data goes where --data-dir says, or nowhere.
func TestNoHome(t *testing.T) {
	p := newPlace(t)
	p.env = p.env[:len(p.env)-1]
	if got := p.run("", "-c", "SELECT 1"); got.code != 2 || !strings.Contains(got.err, "no home directory: name one with --data-dir") {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "-c", "SELECT 1 AS a", "--data-dir", "d", "--format", "csv"); got.code != 0 || got.out != "a\n1\n" {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "version"); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// TestOutputClosed: a reader that has seen enough ends the program quietly.
func TestOutputClosed(t *testing.T) {
	p := newPlace(t)
	endless := "CREATE TABLE g (id BIGINT) WITH (connector = 'generator', kind = 'columns', 'fields.id.kind' = 'sequence'); "
	p.write("query.sql", endless+"SELECT id FROM g")
	p.write("job.sql", endless+"CREATE TABLE c (id BIGINT) WITH (connector = 'console', format = 'json'); INSERT INTO c SELECT id FROM g")
	for _, args := range []string{"run query.sql", "run job.sql --format json", "-f query.sql --format json"} {
		cmd := exec.Command("bash", "-c", `"$0" `+args+` | head -n 1; echo "code ${PIPESTATUS[0]}"`, binary)
		cmd.Dir, cmd.Env = p.dir, p.env
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || !strings.HasSuffix(string(out), "\ncode 1\n") || strings.Contains(errs.String(), "goroutine") || strings.Contains(errs.String(), "ERROR") {
			t.Errorf("streamsql %s: %v, %q, %q", args, err, out, errs.String())
		}
	}
}
