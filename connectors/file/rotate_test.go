package file

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

func text(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// copyTruncate is what logrotate's copytruncate does.
func copyTruncate(t testing.TB, from, to string) {
	t.Helper()
	put(t, to, text(t, from))
	must(t, os.Truncate(from, 0))
}

// pack is what gzip does to a file.
func pack(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path + ".gz")
	must(t, err)
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, text(t, path))
	must(t, err)
	must(t, z.Close())
	must(t, f.Close())
	must(t, os.Remove(path))
}

// all reads until these rows have come, in any order, and then nothing more.
func (rd *reading) all(want string) {
	rd.t.Helper()
	n := strings.Count(want, "|") + 1
	for deadline := time.Now().Add(patience); len(rd.got) < n; {
		if err := rd.next(time.Until(deadline)); err != nil {
			rd.t.Fatalf("got %s, want %s: %v", strings.Join(rd.got, "|"), want, err)
		}
	}
	rd.quiet() // for longer than a suspected copy is left alone
	slices.Sort(rd.got)
	if got := strings.Join(rd.got, "|"); got != want {
		rd.t.Fatalf("got %s, want %s", got, want)
	}
}

// resume closes the reader and gives a function that opens another at its position.
func (rd *reading) resume(c connectors.Config) func() *reading {
	rd.t.Helper()
	must(rd.t, rd.r.Close())
	return func() *reading {
		rd.t.Helper()
		next, err := open(rd.t, c, 0, rd.pos)
		must(rd.t, err)
		next.got = rd.got
		return next
	}
}

// TestRotation: however a file is rotated, while it is read or in between, and whether or
// not the path means its new name, every row is read once, the last unread ones and those
// that a slow writer adds to the renamed file included.
func TestRotation(t *testing.T) {
	rotations := []struct {
		name   string
		rotate func(t testing.TB, log string)
		late   bool // the writer goes on in the old file for a while
	}{
		{"rename", func(t testing.TB, log string) { must(t, os.Rename(log, log+".1")); put(t, log, "") }, true},
		{"rename, nothing new", func(t testing.TB, log string) { must(t, os.Rename(log, log+".1")) }, true},
		{"twice", func(t testing.TB, log string) {
			must(t, os.Rename(log, log+".1"))
			put(t, log, "between\n")
			must(t, os.Rename(log+".1", log+".2"))
			must(t, os.Rename(log, log+".1"))
		}, false},
		{"copytruncate", func(t testing.TB, log string) { copyTruncate(t, log, log+".1") }, false},
	}
	for _, path := range []string{"", "a.log", "*.log", "a.log*"} {
		for _, r := range rotations {
			for _, down := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s of %q, stopped %v", r.name, path, down), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					log := filepath.Join(dir, "a.log")
					put(t, log, "01\n02\n03\n")
					c := config("raw", "path", filepath.Join(dir, path), "follow", "true")
					rd, err := open(t, c, 0, nil)
					must(t, err)
					rd.until("01|02|03")
					rd.quiet()
					again := func() *reading { return rd }
					if down {
						again = rd.resume(c)
					}
					grow(t, log, "04\n")
					r.rotate(t, log)
					grow(t, log, "05\n")
					rd = again()
					want := "01|02|03|04|05"
					if r.name == "twice" && (path == "" || path == "a.log*") {
						want += "|between"
					}
					if r.late {
						grow(t, log+".1", "06\n")
						want += "|06"
					}
					rd.all(want)
					// And once more, from the position behind it all.
					rd = rd.resume(c)()
					grow(t, log, "07\n")
					rd.got = nil
					rd.all("07")
				})
			}
		}
	}
}

// TestCopyInProgress: a copy is seen before the file is cut, lines come in between.
func TestCopyInProgress(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "a.log")
	put(t, log, "01\n02\n03\n")
	rd, err := open(t, config("raw", "path", dir, "follow", "true"), 0, nil)
	must(t, err)
	rd.src.settle = time.Hour
	rd.until("01|02|03")
	put(t, log+".1", "01\n02")
	rd.quiet()
	put(t, log+".1", "01\n02\n03\n")
	grow(t, log, "04\n") // is not in the copy, but was read
	rd.until("01|02|03|04")
	must(t, os.Truncate(log, 0))
	grow(t, log, "05\n")
	rd.all("01|02|03|04|05")
	// A copy of a file that is not cut is a file like any other, as is one that only begins
	// like another.
	rd.src.settle = time.Millisecond
	put(t, filepath.Join(dir, "b.log"), "05\n")
	put(t, filepath.Join(dir, "c.log"), "05\n06\n")
	rd.all("01|02|03|04|05|05|05|06")
}

// TestCompressedRotation: what a file becomes when it is compressed is not read again, its
// unread end is, and a compressed file of something else is refused.
func TestCompressedRotation(t *testing.T) {
	for _, down := range []bool{false, true} {
		dir := t.TempDir()
		log := filepath.Join(dir, "a.log")
		put(t, log, "01\n02\n03\n")
		c := config("raw", "path", dir, "follow", "true")
		rd, err := open(t, c, 0, nil)
		must(t, err)
		rd.until("01|02|03")
		again := func() *reading { return rd }
		if down {
			again = rd.resume(c)
		}
		grow(t, log, "04\n")
		must(t, os.Rename(log, log+".1"))
		put(t, log, "05\n")
		rd = again()
		if !down {
			rd.until("01|02|03|04|05")
		}
		pack(t, log+".1")
		rd.all("01|02|03|04|05")
		must(t, os.Rename(log+".1.gz", log+".2.gz"))
		must(t, os.Rename(log, log+".1"))
		put(t, log, "06\n")
		rd.all("01|02|03|04|05|06")
		rd = rd.resume(c)()
		rd.all("01|02|03|04|05|06")
		next := rd.resume(c)
		pack(t, log+".1")
		grow(t, log, "07\n")
		rd = next()
		rd.all("01|02|03|04|05|06|07")
		put(t, filepath.Join(dir, "other.log"), "else\n")
		pack(t, filepath.Join(dir, "other.log"))
		for err = nil; err == nil; {
			err = rd.next(patience)
		}
		mustCode(t, err, sqlerr.CodeNotSupported)
		_, err = open(t, c, 0, nil)
		mustCode(t, err, sqlerr.CodeNotSupported)
	}
}

// TestRemovedAndReplaced: a file that was removed or replaced is read to its end while it
// is open; one that is gone at a restart is an error unless it was out of use.
func TestRemovedAndReplaced(t *testing.T) {
	dir := t.TempDir()
	log, old := filepath.Join(dir, "a.log"), filepath.Join(dir, "a.log.1")
	put(t, old, "00\n")
	must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)))
	put(t, log, "01\n")
	c := config("raw", "path", dir, "follow", "true")
	rd, err := open(t, c, 0, nil)
	must(t, err)
	rd.all("00|01")
	grow(t, log, "02\n03")
	must(t, os.Remove(log))
	rd.all("00|01|02|03")
	put(t, log, "04\n")
	rd.all("00|01|02|03|04")
	fresh := filepath.Join(dir, ".new")
	put(t, fresh, "05\n")
	grow(t, log, "06\n")
	must(t, os.Rename(fresh, log))
	rd.all("00|01|02|03|04|05|06")
	next := rd.resume(c)
	must(t, os.Remove(old))
	rd = next() // nobody had written it for an hour
	grow(t, log, "07\n")
	rd.all("00|01|02|03|04|05|06|07")
	must(t, rd.r.Close())
	must(t, os.Rename(log, old))
	must(t, os.Remove(old))
	_, err = open(t, c, 0, rd.pos)
	mustCode(t, err, sqlerr.CodeGap)
	put(t, log, "an\nother\n")
	_, err = open(t, c, 0, rd.pos)
	mustCode(t, err, sqlerr.CodeGap)
}

// TestInodeUsedAgain: a position whose inode another file has now is not taken for it.
func TestInodeUsedAgain(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "a.log")
	put(t, log, "01\n02\n")
	c := config("raw", "path", dir, "follow", "true")
	rd, err := open(t, c, 0, nil)
	must(t, err)
	rd.until("01|02")
	must(t, rd.r.Close())
	put(t, filepath.Join(dir, "b.log"), text(t, log)) // the bytes, under another inode
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_TRUNC, 0)
	must(t, err)
	_, err = f.WriteString("another file of the same inode\n")
	must(t, err)
	must(t, f.Close())
	next, err := open(t, c, 0, rd.pos)
	must(t, err)
	next.all("another file of the same inode")
}
