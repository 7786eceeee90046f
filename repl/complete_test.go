package repl

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestComplete: the candidates for what stands before "|", which is the cursor.
func TestComplete(t *testing.T) {
	e := open(t)
	sh := newShell(Options{Engine: e}, true)
	for _, text := range []string{
		`CREATE TABLE bids (auction BIGINT, "dateTime" BIGINT, "order" INT) WITH (connector = 'generator', kind = 'columns', rows = '1')`,
		`CREATE TABLE "Two Words" (auction_id BIGINT) WITH (connector = 'blackhole')`,
		`CREATE TABLE "select" (x BIGINT) WITH (connector = 'blackhole')`,
		`CREATE VIEW big AS SELECT auction FROM bids`,
		`SET 'job.name' = 'a-job'; INSERT INTO "select" SELECT auction FROM bids`,
	} {
		script, err := sh.session.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for i := range script.Statements {
			if _, err := sh.session.Exec(context.Background(), script, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		pending, line string
		want          string // words, "…" for others that there may be
	}{
		{"", "SEL|", "ECT "},
		{"", "sel|", "ect "},
		{"", "SELECT au|", "ction  ction_id "},
		{"", "SELECT AU|", "CTION  CTION_ID "},
		{"", "SELECT * FROM b|", "ids  ig "},
		{"", "SELECT * FROM B|", "IDS  IG "},
		{"SELECT *\nFROM\n", "bi|", "ds  g "},
		{"SELECT 1 FROM x;\n", "SEL|", "ECT "},
		{"", `SELECT * FROM "T|`, "wo Words\" "},
		{"", `SELECT "dateTime", "or|`, "der\" "},
		{"", "SELECT * FROM bids JOIN b|", "ids  ig "},
		{"", "INSERT INTO b|", "ids  ig "},
		{"", "SELECT bids.au|", "ction "},
		{"", "SELECT b.au|", "ction  ction_id "},
		{"", `\d bi|`, "ds  g "},
		{"", `\ti|`, "ming "},
		{"", `\d|`, "  f  t  v "},
		{"", "SET checkpoint.int|", "erval "},
		{"", "SET 'checkpoint.m|", "ax-pending-commits  in-pause  ode "},
		{"", "RESET para|", "llelism "},
		{"", "STOP JOB a|", ""},
		{"", "STOP JOB '|", ""},
		{"", "SELECT COU|", "NT  NT_CHAR "},
		{"", "SELECT split_i|", "ndex "},
		{"", "CREATE TABLE t (x INT) WITH (conn|", "ector "},
		{"", "CREATE TABLE t (x INT) WITH (connector = 'black|", "hole "},
		{"CREATE TABLE t (x INT)\nWITH (connector = 'postgres',\n", "'auto.c|", "reate "},
		{"", "SELECT |", ""},
		{"", "SELECT nosuchthing|", ""},
	} {
		sh.pending = c.pending
		line := []rune(strings.TrimSuffix(c.line, "|"))
		rests, _ := (&completer{sh}).Do(line, len(line))
		var got []string
		for _, r := range rests {
			got = append(got, string(r))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q %q gives %q, want %q", c.pending, c.line, strings.Join(got, " "), c.want)
		}
	}
}

func TestCompleteOffersNames(t *testing.T) {
	sh := newShell(Options{Engine: open(t)}, true)
	for name, want := range map[string]string{"plain": "plain", "with_1": "with_1", "1st": `"1st"`, "Mixed": `"Mixed"`, "a b": `"a b"`,
		`q"q`: `"q""q"`, "select": `"select"`, "": `""`, "größe": "größe"} {
		if got := quoteName(name); got != want {
			t.Errorf("%q is spelled %s, want %s", name, got, want)
		}
	}
	names, fold := (&completer{sh}).candidates(nil)
	for _, want := range []string{"SELECT", "SNAPSHOT", "COUNT"} {
		if !fold || !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, want) }) {
			t.Errorf("%s is not offered", want)
		}
	}
}
