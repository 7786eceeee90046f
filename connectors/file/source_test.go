package file

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustCode(t testing.TB, err error, code string) *sqlerr.Error {
	t.Helper()
	e := sqlerr.As(err)
	if e == nil || e.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
	return e
}

func put(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func grow(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func config(format string, kv ...string) connectors.Config {
	c := connectors.Config{Table: "t", Format: format, Options: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		c.Options[kv[i]] = kv[i+1]
	}
	return c
}

// reading is one split and what was read of it.
type reading struct {
	t    testing.TB
	src  *source
	r    connectors.Reader
	pos  connectors.Position
	last *connectors.Chunk
	got  []string
}

func open(t testing.TB, c connectors.Config, split int, pos connectors.Position) (*reading, error) {
	t.Helper()
	s, err := openSource(context.Background(), c)
	if err != nil {
		return nil, err
	}
	src := s.(*source)
	src.poll, src.settle, src.idle = 2*time.Millisecond, 20*time.Millisecond, time.Hour
	splits, err := s.Splits(context.Background())
	must(t, err)
	if split >= len(splits) {
		t.Fatalf("%d splits", len(splits))
	}
	r, err := s.Open(context.Background(), splits[split], pos)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { r.Close() })
	return &reading{t: t, src: src, r: r, pos: pos}, nil
}

func (rd *reading) next(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	c, err := rd.r.Next(ctx)
	if err != nil {
		return err
	}
	rd.last, rd.pos = c, c.Pos
	for _, p := range c.Payloads {
		rd.got = append(rd.got, string(p))
	}
	return nil
}

func (rd *reading) toEnd() error {
	for {
		if err := rd.next(patience); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (rd *reading) until(want string) {
	rd.t.Helper()
	deadline := time.Now().Add(patience)
	for strings.Join(rd.got, "|") != want {
		if err := rd.next(time.Until(deadline)); err != nil {
			rd.t.Fatalf("got %q, want %q: %v", strings.Join(rd.got, "|"), want, err)
		}
	}
}

func (rd *reading) quiet() {
	rd.t.Helper()
	before := len(rd.got)
	for {
		err := rd.next(20 * rd.src.poll)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		must(rd.t, err)
	}
	if len(rd.got) != before {
		rd.t.Fatalf("unexpected %q", rd.got[before:])
	}
}

func TestRead(t *testing.T) {
	cases := []struct {
		name, format, text string
		options            []string
		want               string
		columns            string
	}{
		{"lines", "json", "{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}", nil, `{"a":1}|{"a":2}|{"a":3}`, ""},
		{"byte order mark", "json", "\xef\xbb\xbf{}\n", nil, "{}", ""},
		{"empty", "json", "", nil, "", ""},
		{"raw keeps empty lines", "raw", "a\n\nb\n", nil, "a||b", ""},
		{"quoted line ends", "csv", "1,\"a\nb\"\r\n2,\"x\"\"\ny\"\n", nil, "1,\"a\nb\"|2,\"x\"\"\ny\"", ""},
		{"header", "csv", "id,\"the name\"\n1,x\n", []string{"csv.header", "true"}, "1,x", `id,the name`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "in")
			put(t, path, c.text)
			cfg := config(c.format, append([]string{"path", path}, c.options...)...)
			rd, err := open(t, cfg, 0, nil)
			must(t, err)
			must(t, rd.toEnd())
			if got := strings.Join(rd.got, "|"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := cfg.Options["csv.columns"]; got != c.columns {
				t.Errorf("columns %q, want %q", got, c.columns)
			}
		})
	}
}

// A read that stops after any chunk goes on with the next line, whatever the format
// and the compression.
func TestResume(t *testing.T) {
	var text strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&text, "{\"id\":%d,\"pad\":%q}\n", i, strings.Repeat("x", i%300))
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.json"), text.String())
	gz, err := os.Create(filepath.Join(dir, "a.json.gz"))
	must(t, err)
	z := gzip.NewWriter(gz)
	_, err = io.WriteString(z, text.String())
	must(t, err)
	must(t, z.Close())
	must(t, gz.Close())
	enc, err := zstd.NewWriter(nil)
	must(t, err)
	put(t, filepath.Join(dir, "a.json.zst"), string(enc.EncodeAll([]byte(text.String()), nil)))
	for _, name := range []string{"a.json", "a.json.gz", "a.json.zst"} {
		c := config("json", "path", filepath.Join(dir, name))
		c.Meta = []string{"offset", "path"}
		var got []string
		var pos connectors.Position
		for chunks := 0; ; chunks++ {
			rd, err := open(t, c, 0, pos)
			must(t, err)
			if err := rd.next(patience); err == io.EOF {
				break
			} else {
				must(t, err)
			}
			for i := range rd.got {
				at := rd.last.Meta[0].I64[i]
				if !strings.HasPrefix(text.String()[at:], rd.got[i]+"\n") || string(rd.last.Meta[1].Bytes(i)) != filepath.Join(dir, name) {
					t.Fatalf("%s: offset %d of row %q", name, at, rd.got[i])
				}
			}
			got, pos = append(got, rd.got...), rd.pos
			if len(rd.last.Payloads) == 0 {
				break
			}
		}
		if strings.Join(got, "\n")+"\n" != text.String() {
			t.Fatalf("%s: %d rows differ from the text", name, len(got))
		}
	}
}

func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "b.json"), "2\n3")
	put(t, filepath.Join(dir, "a.json"), "1\n")
	put(t, filepath.Join(dir, ".hidden"), "9\n")
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	// The directory as it is: one split, by name.
	rd, err := open(t, config("json", "path", dir), 0, nil)
	must(t, err)
	must(t, rd.toEnd())
	if got := strings.Join(rd.got, "|"); got != "1|2|3" {
		t.Fatalf("got %s", got)
	}
	for _, path := range []string{dir + "/", filepath.Join(dir, "*.json")} {
		for i, want := range []string{"1", "2|3"} {
			rd, err := open(t, config("json", "path", path), i, nil)
			must(t, err)
			must(t, rd.toEnd())
			if got := strings.Join(rd.got, "|"); got != want {
				t.Fatalf("split %d of %s: %s", i, path, got)
			}
		}
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	put(t, a, "1\n2\nhalf")
	c := config("raw", "path", dir, "follow", "true")
	rd, err := open(t, c, 0, nil)
	must(t, err)
	rd.until("1|2")
	for !rd.last.CaughtUp {
		must(t, rd.next(patience))
	}
	rd.quiet()
	grow(t, a, " line\n")
	rd.until("1|2|half line")
	put(t, b, "b1\n")
	rd.until("1|2|half line|b1")
	grow(t, a, "3\n")
	rd.until("1|2|half line|b1|3")
	// Resumed, it goes on in both.
	grow(t, a, "4\n")
	grow(t, b, "b2\n")
	again, err := open(t, c, 0, rd.pos)
	must(t, err)
	again.until("4|b2")
	// Renamed away and begun anew: the last line of the old file and the new file.
	grow(t, a, "5")
	again.quiet()
	must(t, os.Rename(a, filepath.Join(dir, ".rotated")))
	put(t, a, "6\n")
	again.until("4|b2|6")
	again.src.idle = 0
	again.until("4|b2|6|5")
}

func TestCutOrRewritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.log")
	for _, c := range []struct{ name, text string }{{"cut", "1\n"}, {"rewritten longer", "x\ny\nz\nand more\n"}} {
		put(t, path, "1\n2\n3\n")
		cfg := config("raw", "path", path, "follow", "true")
		rd, err := open(t, cfg, 0, nil)
		must(t, err)
		rd.until("1|2|3")
		rd.quiet()
		put(t, path, c.text)
		var failed error
		for failed == nil {
			failed = rd.next(patience)
		}
		mustCode(t, failed, sqlerr.CodeGap)
		_, err = open(t, cfg, 0, rd.pos)
		mustCode(t, err, sqlerr.CodeGap)
		if len(rd.got) != 3 {
			t.Fatalf("%s: rows of another file: %q", c.name, rd.got)
		}
	}
	must(t, os.Remove(path))
	put(t, path, "1\n2\n3\n")
	rd, err := open(t, config("raw", "path", path), 0, nil)
	must(t, err)
	must(t, rd.next(patience))
	must(t, os.Remove(path))
	_, err = open(t, config("raw", "path", dir), 0, rd.pos)
	mustCode(t, err, sqlerr.CodeGap)
}

func TestSourceErrors(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "1.csv"), "a,b\n1,2\n")
	put(t, filepath.Join(dir, "2.csv"), "b,a\n1,2\n")
	put(t, filepath.Join(dir, "bad.gz"), "no gzip")
	_, err := open(t, config("json", "path", filepath.Join(dir, "none")), 0, nil)
	mustCode(t, err, sqlerr.CodeSchema)
	rd, err := open(t, config("csv", "path", filepath.Join(dir, "*.csv"), "csv.header", "true"), 1, nil)
	must(t, err)
	mustCode(t, rd.toEnd(), sqlerr.CodeSchema)
	rd, err = open(t, config("json", "path", filepath.Join(dir, "bad.gz")), 0, nil)
	must(t, err)
	mustCode(t, rd.toEnd(), sqlerr.CodeDecode)
	// Without a file at the start the header has to be the declared columns.
	late := filepath.Join(dir, "late.csv")
	rd, err = open(t, config("csv", "path", late, "csv.header", "true", "follow", "true", "csv.columns", "a,b"), 0, nil)
	must(t, err)
	put(t, late, "a,b\n1,2\n")
	rd.until("1,2")
	must(t, os.Remove(late))
	rd, err = open(t, config("csv", "path", late, "csv.header", "true", "follow", "true", "csv.columns", "a,b"), 0, nil)
	must(t, err)
	put(t, late, "b,a\n1,2\n")
	failed := rd.next(patience)
	for failed == nil {
		failed = rd.next(patience)
	}
	mustCode(t, failed, sqlerr.CodeSchema)
	for _, kv := range [][]string{{}, {"path", "x", "roll.size", "big"}, {"path", "x", "roll.interval", "soon"}} {
		_, err := openSource(context.Background(), config("json", kv...))
		mustCode(t, err, sqlerr.CodeOption)
	}
	_, err = openSource(context.Background(), config("json", "path", "x", "follow", "true", "compression", "gzip"))
	mustCode(t, err, sqlerr.CodeNotSupported)
}

// TestHeader: what the header says of the fields that are read; others do not matter.
func TestHeader(t *testing.T) {
	for _, c := range []struct{ header, reads, code, want string }{
		{"a,b,c", "b,a", "", ""},
		{"a,b,a", "b", "", ""},
		{"a,b,a", "b,a", sqlerr.CodeSchema, `file "FILE" has more than one field "a"; Its header is ["a" "b" "a"].; `},
		{"a,name", "nam", sqlerr.CodeSchema, `file "FILE" has no field "nam"; Its header is ["a" "name"].; Did you mean "name"?`},
		{"a,A", "b", sqlerr.CodeSchema, `file "FILE" has no field "b"; Its header is ["a" "A"].; `},
		{`a,"b`, "a", sqlerr.CodeDecode, `file "FILE": its header: unterminated quotes in a CSV record; ; `},
		{"", "a", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "in.csv")
		put(t, path, c.header)
		cfg := config("csv", "path", path, "csv.header", "true")
		cfg.Fields = strings.Split(c.reads, ",")
		_, err := openSource(context.Background(), cfg)
		if c.code == "" {
			must(t, err)
			continue
		}
		e := mustCode(t, err, c.code)
		if got := strings.ReplaceAll(err.Error()+"; "+e.Detail+"; "+e.Hint, path, "FILE"); got != c.want {
			t.Errorf("%q read for %s: %s, want %s", c.header, c.reads, got, c.want)
		}
	}
}

// TestNoDirectory: a pattern without files is empty, one without its directory is wrong,
// unless it is followed.
func TestNoDirectory(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plain"), "")
	must(t, os.MkdirAll(filepath.Join(dir, "a[b", "sub"), 0o755))
	for _, c := range []struct{ path, want string }{
		{"*.csv", ""},
		{"*/none/*.csv", ""},
		{`a\[b/*.csv`, ""},
		{`a\[b/sub/`, ""},
		{"none/*.csv", `directory "DIR/none" does not exist`},
		{"none/of/them/[ab]/*.csv", `directory "DIR/none/of/them" does not exist`},
		{`a\[c/*.csv`, ""}, // the pattern begins at the bracket
		{"none/", `directory "DIR/none/" does not exist`},
		{"none", `file "DIR/none" does not exist`},
		{"plain/*.csv", `"DIR/plain" is no directory`},
	} {
		_, err := openSource(context.Background(), config("csv", "path", dir+"/"+c.path))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.path, err)
		case c.want != "":
			if got := strings.ReplaceAll(mustCode(t, err, sqlerr.CodeSchema).Error(), dir, "DIR"); got != c.want {
				t.Errorf("%s: %s, want %s", c.path, got, c.want)
			}
		}
		_, err = openSource(context.Background(), config("csv", "path", dir+"/"+c.path, "follow", "true"))
		must(t, err)
	}
}
