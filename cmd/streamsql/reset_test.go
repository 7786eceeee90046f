package main

import (
	"strings"
	"testing"
)

func TestResetSourceFlag(t *testing.T) {
	p := newPlace(t)
	p.write("job.sql", bounded)
	p.write("look.sql", declared, "SELECT id FROM g;")
	for _, c := range []struct{ args, err string }{
		{"job.sql look.sql --reset-source g=earliest", "--reset-source is for one file"},
		{"look.sql --reset-source g=earliest", "a SELECT keeps no positions"},
		{"job.sql --reset-source g", "--reset-source wants name=value"},
		{"job.sql --reset-source g=earliest --reset-source g=latest", "--reset-source g is given twice"},
		{"job.sql --reset-source h=earliest", `the job reads no table "h"`},
		{"job.sql --reset-source g=earliest", `connector "generator" has no option "start"`},
	} {
		if got := p.run("", strings.Fields("run --data-dir d "+c.args)...); got.code != 2 || !strings.Contains(got.err, c.err) {
			t.Errorf("streamsql run %s: %+v, want %q", c.args, got, c.err)
		}
	}
}
