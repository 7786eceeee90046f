package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
