package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors/nats/embedded"
)

// TestUnreadable: a damaged manifest is named and leaves the others in the lists.
func TestUnreadable(t *testing.T) {
	p := newPlace(t)
	p.write("in.json", `{"v":1}`)
	for _, job := range []string{"a", "b"} {
		p.write(job+".sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json'); CREATE TABLE o (v BIGINT) WITH (connector = 'blackhole'); INSERT INTO o SELECT v FROM i;")
		ran(p, "run", job+".sql", "--data-dir", "d")
		ran(p, "savepoint", "create", job, "of-"+job, "--data-dir", "d")
	}
	manifests, err := filepath.Glob(filepath.Join(p.dir, "d/checkpoints/job/*/manifest/*"))
	if err != nil || len(manifests) < 2 {
		t.Fatalf("%q, %v", manifests, err)
	}
	newest := strings.Split(strings.TrimSpace(ran(p, "checkpoint", "list", "b", "--data-dir", "d", "--format", "csv")), "\n")
	for _, m := range append(manifests, filepath.Join(p.dir, "d/savepoints/of-a/savepoint/manifest")) {
		if b, err := os.ReadFile(m); err != nil {
			t.Fatal(err)
		} else if strings.Contains(string(b), `"name":"a"`) {
			if err := os.WriteFile(m, []byte("nonsense"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		args      string
		code      int
		out, errs string // parts
	}{
		{"checkpoint list", 1, newest[len(newest)-1] + "\n", `ERROR: job "a": read checkpoint `},
		{"checkpoint list a", 1, "job,epoch,attempt,bytes,created,kind\n", " is damaged: its checksum does not match\n"},
		{"checkpoint list b", 0, newest[len(newest)-1] + "\n", ""},
		{"savepoint list", 1, "d/savepoints/of-b,b,", `d/savepoints/of-a": read savepoint: object "savepoint/manifest" is damaged`},
		{"-c SHOW_CHECKPOINTS", 0, `a,"","","","","unreadable: job ""a"": read checkpoint `, ""},
		{"-c SHOW_CHECKPOINTS", 0, "\n" + newest[len(newest)-1] + "\n", ""},
		{"-c SHOW_SAVEPOINTS", 0, `"unreadable: `, ""},
	} {
		args := append(strings.Fields(c.args), "--data-dir", "d", "--format", "csv")
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		if got := p.run("", args...); got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.errs) {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}

// TestSavepointOfOtherServer: a savepoint asks the server that --nats names, the embedded
// one with a hint, and none when nothing is to be committed.
func TestSavepointOfOtherServer(t *testing.T) {
	p := newPlace(t)
	srv, err := embedded.Start(t.TempDir(), embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	p.write("in.json", `{"v":1}`)
	p.write("job.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json', follow = 'true');",
		"CREATE TABLE o (v BIGINT) WITH (connector = 'nats', stream = 'S', subject = 's.a', 'auto.create' = 'true', delivery = 'exactly-once');",
		"INSERT INTO o SELECT v FROM i;")
	s := p.start("run", "job.sql", "--data-dir", "d", "--nats", srv.URL(), "--set", "checkpoint.interval=20ms")
	eventually(t, "a confirmed checkpoint with rows", func() bool {
		got := p.run("", "savepoint", "create", "job", "--data-dir", "d", "--nats", srv.URL())
		inspected := p.run("", "checkpoint", "inspect", "job", "--data-dir", "d")
		return got.code == 0 && strings.Contains(inspected.out, "commit")
	})
	if got := p.run("", "savepoint", "create", "job", "--data-dir", "d"); got.code == 0 || !strings.Contains(got.err, `"S"`) || !strings.Contains(got.err, "HINT: The embedded NATS server was asked: if the job runs on another, name it with --nats.\n") {
		t.Errorf("%+v", got)
	}
	s.stop(os.Interrupt)
	// The embedded server is of use to one process, the one that runs the job.
	p.write("own.sql", "CREATE TABLE i (v BIGINT) WITH (connector = 'nats', stream = 'T', subject = 't.a', format = 'json', 'auto.create' = 'true');",
		"CREATE TABLE o (v BIGINT) WITH (connector = 'blackhole');", "INSERT INTO o SELECT v FROM i;")
	p.write("fill.sql", "CREATE TABLE o (v BIGINT) WITH (connector = 'nats', stream = 'T', subject = 't.a', format = 'json', 'auto.create' = 'true');", "INSERT INTO o VALUES (1);")
	ran(p, "run", "fill.sql", "--data-dir", "d")
	s = p.start("run", "own.sql", "--data-dir", "d", "--set", "checkpoint.interval=20ms")
	eventually(t, "checkpoint", func() bool {
		return strings.Contains(p.run("", "checkpoint", "list", "own", "--data-dir", "d").out, "running")
	})
	if got := p.run("", "savepoint", "create", "own", "--data-dir", "d"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	s.stop(os.Interrupt)
}

// TestDataDirHint: a directory that cannot be used comes with the flag that names another.
func TestDataDirHint(t *testing.T) {
	p := newPlace(t)
	p.write("file")
	if got := p.run("", "-c", "SELECT 1", "--data-dir", "file"); got.code != 1 || !strings.Contains(got.err, "HINT: Name a directory that can be written with --data-dir.\n") {
		t.Errorf("%+v", got)
	}
}
