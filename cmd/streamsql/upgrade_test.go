package main

import (
	"os"
	"strings"
	"testing"
)

// TestChangedQuery: a file that changed is refused with what would become of its state,
// which explain --upgrade prints, and goes on like that when it is asked to.
func TestChangedQuery(t *testing.T) {
	p := newPlace(t)
	job := func(aggregate string) string {
		return `CREATE TABLE i (k VARCHAR, v BIGINT) WITH (connector = 'file', path = 'in.json', format = 'json', follow = 'true');
CREATE TABLE o (k VARCHAR, n BIGINT, x BIGINT) WITH (connector = 'console', format = 'csv');
INSERT INTO o SELECT k, COUNT(*), ` + aggregate + ` FROM i GROUP BY k;`
	}
	args := []string{"run", "job.sql", "--data-dir", "d", "--parallelism", "1", "--set", "checkpoint.interval=20ms"}
	p.write("job.sql", job("MIN(v)"))
	p.write("in.json", `{"k":"a","v":1}`, `{"k":"a","v":2}`)
	s := p.start(args...)
	eventually(t, "rows", func() bool { return strings.Contains(s.out.String(), "a,2,1\n") })
	if got := s.stop(os.Interrupt); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := p.run("", "savepoint", "create", "job", "mine", "--data-dir", "d"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if got := ran(p, "explain", "job.sql", "--upgrade", "--data-dir", "d"); !strings.Contains(got, "everything goes on as it is") {
		t.Errorf("of the same file: %s", got)
	}

	p.write("job.sql", job("MAX(v)"))
	p.write("in.json", `{"k":"a","v":1}`, `{"k":"a","v":2}`, `{"k":"a","v":0}`)
	report := ran(p, "explain", "job.sql", "--upgrade", "--data-dir", "d")
	if !strings.Contains(report, "group \"o/group\": partial\n  COUNT(*): reuse\n  MAX(v): begins empty\n") {
		t.Errorf("the report is\n%s", report)
	}
	if got := ran(p, "explain", "job.sql", "--from-savepoint", "mine", "--data-dir", "d"); got != report {
		t.Errorf("over the savepoint it is\n%s", got)
	}
	if got := p.run("", args...); got.code != 2 || !strings.Contains(got.err, strings.TrimSpace(report)) || !strings.Contains(got.err, "--allow-non-restored-state") {
		t.Errorf("without consent: %+v", got)
	}
	if got := p.run("", append(args, "--fresh", "--from-savepoint", "mine")...); got.code != 2 || !strings.Contains(got.err, "without a savepoint to begin anew") {
		t.Errorf("from the savepoint: %+v", got)
	}
	s = p.start(append(args, "--allow-non-restored-state")...)
	eventually(t, "rows", func() bool { return strings.Contains(s.out.String(), "a,3,0\n") })
	if got := s.stop(os.Interrupt); got.code != 0 || !strings.Contains(got.err, "has changed:\n"+report) {
		t.Errorf("%+v", got)
	}
	if got := p.run("", "explain", "job.sql", "--upgrade", "--data-dir", "nowhere"); got.code != 2 || !strings.Contains(got.err, "has no checkpoint") {
		t.Errorf("without a checkpoint: %+v", got)
	}
}
