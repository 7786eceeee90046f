package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

var outSchema = types.Schema{{Name: "id", Type: types.TBigInt}, {Name: "name", Type: types.TText}}

func rows(from, n int) *vec.Batch {
	b := vec.NewBatch(outSchema.Types(), n)
	for i := from; i < from+n; i++ {
		b.Cols[0].AppendInt64(int64(i))
		b.Cols[1].AppendString(fmt.Sprint("n", i))
		b.AppendOp(vec.Insert)
	}
	return b
}

func openOut(t testing.TB, format, dir string, kv ...string) *sink {
	t.Helper()
	c := config(format, append([]string{"path", dir}, kv...)...)
	c.Schema = outSchema
	k, err := openSink(context.Background(), c)
	must(t, err)
	must(t, k.Check(context.Background()))
	return k.(*sink)
}

func committerOf(t testing.TB, k *sink, job string, attempt uint64, takeOver bool) (connectors.Committer, error) {
	t.Helper()
	c, err := k.Committer(context.Background(), job, attempt)
	must(t, err)
	return c, c.Acquire(context.Background(), []connectors.Sink{k}, takeOver)
}

// seen gives the lines of the visible files, in the order of the names.
func seen(t testing.TB, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		if strings.HasSuffix(e.Name(), ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(text))
			must(t, err)
			text, err = io.ReadAll(z)
			must(t, err)
		}
		out = append(out, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return out
}

func hiddenFiles(t testing.TB, dir string) int {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, hiddenPrefix+"*"))
	must(t, err)
	return len(list)
}

func write(t testing.TB, k *sink, attempt uint64, epoch stream.Epoch, from, n int) ([]byte, error) {
	t.Helper()
	w, err := k.OpenWriter(context.Background(), connectors.WriterContext{Job: "job-1", Attempt: attempt, Subtask: 2})
	must(t, err)
	must(t, w.Write(context.Background(), rows(from, n)))
	must(t, w.Flush(context.Background()))
	return w.Seal(context.Background(), epoch)
}

func id(attempt uint64, e stream.Epoch) connectors.CommitID {
	return connectors.CommitID{Job: "job-1", Attempt: attempt, Epoch: e, Prev: e - 1, Checksum: "sum"}
}

func TestSink(t *testing.T) {
	cases := []struct {
		format  string
		options []string
		want    string
		files   int
	}{
		{"json", nil, `{"id":0,"name":"n0"}|{"id":1,"name":"n1"}|{"id":2,"name":"n2"}`, 1},
		{"csv", []string{"csv.header", "true"}, "id,name|0,n0|1,n1|2,n2", 1},
		{"csv", []string{"compression", "gzip"}, "0,n0|1,n1|2,n2", 1},
		{"csv", []string{"roll.size", "1"}, "0,n0|1,n1|2,n2", 3},
		{"csv", []string{"roll.interval", "1ns"}, "0,n0|1,n1|2,n2", 3},
	}
	for _, c := range cases {
		dir := filepath.Join(t.TempDir(), "made")
		k := openOut(t, c.format, dir, c.options...)
		com, err := committerOf(t, k, "job-1", 1, false)
		must(t, err)
		tok, err := write(t, k, 1, 5, 0, 3)
		must(t, err)
		if got := seen(t, dir); len(got) != 0 || hiddenFiles(t, dir) != c.files {
			t.Fatalf("before the commit %q are visible, %d files hidden", got, hiddenFiles(t, dir))
		}
		parts := []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}
		must(t, com.Commit(context.Background(), id(1, 5), parts))
		must(t, com.Commit(context.Background(), id(1, 5), parts))
		if got := strings.Join(seen(t, dir), "|"); got != c.want || hiddenFiles(t, dir) != 0 {
			t.Errorf("%s %v: got %q", c.format, c.options, got)
		}
		f, err := com.Fence(context.Background())
		must(t, err)
		if f != (connectors.Fence{Known: true, Job: "job-1", Attempt: 1, Epoch: 5, Checksum: "sum"}) {
			t.Errorf("fence %+v", f)
		}
	}
}

// Killed at any step, and with any step reported as failed though it was done, every
// row is visible once.
func TestSinkKilledBetweenSteps(t *testing.T) {
	const epochs, perEpoch = 12, 4
	killed := errors.New("killed")
	for seed := range uint64(8) {
		dir := t.TempDir()
		rnd := rand.New(rand.NewPCG(seed, 7))
		left := 12
		attempt := uint64(0)
		var k *sink
		var com connectors.Committer
		start := func() {
			for {
				attempt++
				k = openOut(t, "csv", dir, "roll.size", "8")
				k.point = func(string) error {
					if left > 0 && rnd.IntN(8) == 0 {
						left--
						return killed
					}
					return nil
				}
				var err error
				if com, err = committerOf(t, k, "job-1", attempt, false); err == nil {
					return
				}
			}
		}
		start()
		epoch, done := stream.Epoch(0), 0
		for done < epochs {
			epoch++ // never used twice
			tok, err := write(t, k, attempt, epoch, done*perEpoch, perEpoch)
			if err != nil {
				start()
				continue
			}
			// The manifest decides the epoch here; from now on it has to become visible.
			parts := []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}
			for com.Commit(context.Background(), id(attempt, epoch), parts) != nil {
				start()
			}
			done++
		}
		got := seen(t, dir)
		if len(got) != epochs*perEpoch {
			t.Fatalf("seed %d: %d rows", seed, len(got))
		}
		for i, line := range got {
			if line != fmt.Sprintf("%d,n%d", i, i) {
				t.Fatalf("seed %d: row %d is %q", seed, i, line)
			}
		}
		start()
		tok, err := write(t, k, attempt, epoch+1, 0, 0)
		must(t, err)
		if tok != nil {
			t.Fatalf("a token %q without rows", tok)
		}
		left = 0
		must(t, com.Commit(context.Background(), id(attempt, epoch+1), nil))
		if n := hiddenFiles(t, dir); n != 0 {
			t.Fatalf("seed %d: %d orphans", seed, n)
		}
	}
}

func TestSinkZombieAndOtherJob(t *testing.T) {
	dir := t.TempDir()
	k := openOut(t, "csv", dir)
	old, err := committerOf(t, k, "job-1", 1, false)
	must(t, err)
	tok, err := write(t, k, 1, 1, 0, 2)
	must(t, err)
	next, err := committerOf(t, openOut(t, "csv", dir), "job-1", 2, false)
	must(t, err)
	parts := []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}
	mustCode(t, old.Commit(context.Background(), id(1, 1), parts), sqlerr.CodeFenced)
	mustCode(t, old.Acquire(context.Background(), nil, false), sqlerr.CodeFenced)
	if got := seen(t, dir); len(got) != 0 {
		t.Fatalf("the zombie showed %q", got)
	}
	// The decided epoch of the dead attempt is shown by the next.
	must(t, next.Commit(context.Background(), id(2, 1), parts))
	if got := strings.Join(seen(t, dir), "|"); got != "0,n0|1,n1" {
		t.Fatalf("got %q", got)
	}
	mustCode(t, next.Commit(context.Background(), id(2, 0), nil), sqlerr.CodeFenced)
	_, err = committerOf(t, openOut(t, "csv", dir), "job-2", 1, false)
	mustCode(t, err, sqlerr.CodeFenced)
	_, err = committerOf(t, openOut(t, "csv", dir), "job-2", 1, true)
	must(t, err)
	mustCode(t, next.Commit(context.Background(), id(2, 2), nil), sqlerr.CodeFenced)
}

// A reader that takes the files of epochs up to the fence sees whole epochs, whenever it
// looks.
func TestSinkReaderByFence(t *testing.T) {
	dir := t.TempDir()
	k := openOut(t, "csv", dir, "roll.size", "1")
	com, err := committerOf(t, k, "job-1", 1, false)
	must(t, err)
	epochOf := regexp.MustCompile(`-(\d{10})-\d+-\d{3}-\d{3}\.csv$`)
	var partly bool
	look := func(string) error {
		var f fence
		must(t, json.Unmarshal([]byte(text(t, filepath.Join(dir, fenceName))), &f))
		list, err := filepath.Glob(filepath.Join(dir, "*.csv"))
		must(t, err)
		files := map[stream.Epoch]int{}
		for _, path := range list {
			e, err := strconv.Atoi(epochOf.FindStringSubmatch(path)[1])
			must(t, err)
			files[stream.Epoch(e)]++
		}
		for e, n := range files {
			if e <= f.Epoch && n != 3 {
				t.Errorf("epoch %d of fence %d has %d files", e, f.Epoch, n)
			}
			partly = partly || n != 3
		}
		return nil
	}
	for e := range stream.Epoch(4) {
		tok, err := write(t, k, 1, e+1, int(e)*3, 3)
		must(t, err)
		k.point = look
		must(t, com.Commit(context.Background(), id(1, e+1), []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}))
		k.point = func(string) error { return nil }
	}
	if !partly {
		t.Error("the reader never looked in between")
	}
}

// A job that has ended well leaves its directory to the next, and can go on itself while
// nobody has come.
func TestSinkGivesUpItsDirectory(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	first, err := committerOf(t, openOut(t, "csv", dir), "job-1", 1, false)
	must(t, err)
	k := openOut(t, "csv", dir)
	tok, err := write(t, k, 1, 1, 0, 1)
	must(t, err)
	must(t, first.Commit(ctx, id(1, 1), []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}))
	must(t, first.(connectors.Relinquisher).Relinquish(ctx))
	again, err := committerOf(t, k, "job-1", 2, false)
	must(t, err)
	f, err := again.Fence(ctx)
	must(t, err)
	if f.Epoch != 1 {
		t.Fatalf("the fence forgot its epoch: %+v", f)
	}
	mustCode(t, first.(connectors.Relinquisher).Relinquish(ctx), sqlerr.CodeFenced)
	_, err = committerOf(t, k, "job-2", 1, false)
	mustCode(t, err, sqlerr.CodeFenced)
	must(t, again.(connectors.Relinquisher).Relinquish(ctx))
	other, err := committerOf(t, k, "job-2", 1, false)
	must(t, err)
	if f, err = other.Fence(ctx); err != nil || f.Job != "job-2" || f.Epoch != 0 {
		t.Fatalf("fence %+v, %v", f, err)
	}
	_, err = committerOf(t, k, "job-1", 3, false)
	mustCode(t, err, sqlerr.CodeFenced)
	_, err = committerOf(t, k, "job-1", 3, true)
	must(t, err)
	if got := strings.Join(seen(t, dir), "|"); got != "0,n0" {
		t.Fatalf("visible: %q", got)
	}
}

// A job that dies after it has claimed the directory and before it has committed anything
// has not made the directory forget what is in it of the job before, nor what waits.
func TestSinkClaimedAndDied(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	k := openOut(t, "csv", dir)
	commit := func(c connectors.Committer, attempt uint64, epoch stream.Epoch, tok []byte) {
		t.Helper()
		must(t, c.Commit(ctx, id(attempt, epoch), []connectors.Part{{Sink: k, Tokens: [][]byte{tok}}}))
	}
	first, err := committerOf(t, k, "job-1", 1, false)
	must(t, err)
	tok, err := write(t, k, 1, 1, 0, 1)
	must(t, err)
	commit(first, 1, 1, tok)
	waits, err := write(t, k, 1, 2, 1, 1)
	must(t, err)
	for _, job := range []string{"job-2", "job-3"} {
		_, err = committerOf(t, k, job, 1, true) // dies
		must(t, err)
	}
	_, err = committerOf(t, k, "job-1", 2, false)
	mustCode(t, err, sqlerr.CodeFenced)
	again, err := committerOf(t, k, "job-1", 2, true)
	must(t, err)
	if f, err := again.Fence(ctx); err != nil || f.Job != "job-1" || f.Epoch != 1 || f.Attempt != 2 {
		t.Fatalf("fence %+v, %v", f, err)
	}
	commit(again, 2, 2, waits)
	if got := strings.Join(seen(t, dir), "|"); got != "0,n0|1,n1" {
		t.Fatalf("visible: %q", got)
	}
	// Behind the first commit of another job nothing counts any more, and nothing waits.
	_, err = write(t, k, 2, 3, 2, 1)
	must(t, err)
	last, err := committerOf(t, k, "job-4", 1, true)
	must(t, err)
	must(t, last.Commit(ctx, connectors.CommitID{Job: "job-4", Attempt: 1, Epoch: 1}, nil))
	if f, err := again.Fence(ctx); err != nil || f.Job != "job-4" || f.Epoch != 1 {
		t.Fatalf("fence %+v, %v", f, err)
	}
	list, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range list {
		if _, ok := parseHidden(e.Name()); ok {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// A check and a start that is refused leave nothing behind.
func TestSinkLeavesNoTrace(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "made", "below")
	put(t, filepath.Join(above, checkPrefix+"123"), "") // of a check that was killed
	k := openOut(t, "csv", dir)
	if list, err := os.ReadDir(above); err != nil || len(list) != 0 {
		t.Fatalf("after the check: %v, %v", list, err)
	}
	_, err := committerOf(t, k, "job-1", 1, false)
	must(t, err)
	before, err := os.ReadDir(dir)
	must(t, err)
	fence, err := os.ReadFile(filepath.Join(dir, fenceName))
	must(t, err)
	_, err = committerOf(t, openOut(t, "csv", dir), "job-2", 1, false)
	mustCode(t, err, sqlerr.CodeFenced)
	after, err := os.ReadDir(dir)
	must(t, err)
	if now, err := os.ReadFile(filepath.Join(dir, fenceName)); err != nil || string(now) != string(fence) || len(after) != len(before) {
		t.Fatalf("the refused start left %v, fence %s", after, now)
	}
}

func TestSinkRefuses(t *testing.T) {
	dir := t.TempDir()
	k := openOut(t, "csv", dir)
	w, err := k.OpenWriter(context.Background(), connectors.WriterContext{Job: "job-1", Attempt: 1})
	must(t, err)
	b := rows(0, 1)
	b.Ops = []vec.Op{vec.Delete}
	mustCode(t, w.Write(context.Background(), b), sqlerr.CodeSinkChangelog)
	must(t, w.Write(context.Background(), rows(0, 1)))
	must(t, w.Close())
	if n := hiddenFiles(t, dir); n != 0 {
		t.Fatalf("%d files of a closed writer", n)
	}
	put(t, filepath.Join(dir, "plain"), "")
	c := config("csv", "path", filepath.Join(dir, "plain", "below"))
	s, err := openSink(context.Background(), c)
	must(t, err)
	mustCode(t, s.Check(context.Background()), sqlerr.CodeSchema)
	_, err = openSink(context.Background(), config("csv", "path", "*.csv"))
	mustCode(t, err, sqlerr.CodeOption)
}
