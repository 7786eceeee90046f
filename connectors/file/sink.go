package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// sink writes part files into a directory.
type sink struct {
	dir      string
	table    string
	size     int64
	interval time.Duration
	compress string // "", "gzip" or "zstd"
	ending   string // of the files
	header   []byte // first line of every file, nil for none
	format   *format.Format
	cols     []format.Column
	options  map[string]string

	// point is called at named places, for tests that stop there.
	point func(name string) error
}

func openSink(_ context.Context, c connectors.Config) (connectors.Sink, error) {
	if _, err := capabilities(c.Options, len(c.Key) > 0); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Options["path"])
	if err != nil {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "\"path\" has %q: %v", c.Options["path"], err)
	}
	// Two sinks of a job may write one table, and names may be alike once they are plain.
	k := &sink{dir: dir, table: fmt.Sprintf("%s-%d", c.Table, c.Node), options: c.Options, point: func(string) error { return nil }}
	if isPattern(c.Options["path"]) {
		return nil, sqlerr.New(sqlerr.CodeOption, 0, "table %q cannot be written: its \"path\" is a pattern", c.Table).
			WithHint("Name a directory.")
	}
	if k.size, err = rollSize(c.Options); err != nil {
		return nil, err
	}
	if k.interval, err = rollInterval(c.Options); err != nil {
		return nil, err
	}
	if k.format, err = format.Find(c.Format); err != nil {
		return nil, err
	}
	k.ending = map[string]string{"json": ".json", "csv": ".csv"}[c.Format]
	if k.ending == "" {
		k.ending = ".txt"
	}
	switch c.Options["compression"] {
	case "gzip":
		k.compress, k.ending = "gzip", k.ending+".gz"
	case "zstd":
		k.compress, k.ending = "zstd", k.ending+".zst"
	}
	for _, col := range c.Schema {
		k.cols = append(k.cols, format.Column{Field: col.Name, Type: col.Type, NotNull: col.NotNull})
	}
	if c.Format == "csv" && c.Options["csv.header"] == "true" {
		if k.header, err = format.AppendCSVFields(nil, c.Schema.Names(), c.Options); err != nil {
			return nil, err
		}
		k.header = append(k.header, '\n')
	}
	return k, nil
}

// Check implements connectors.Sink: the directory has to take files, or the one in which
// it will be made. It leaves nothing behind.
func (k *sink) Check(context.Context) error {
	if k.format.Check != nil {
		if err := k.format.Check(k.cols, k.options); err != nil {
			return err
		}
	}
	dir := k.dir
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() || errors.Is(err, syscall.ENOTDIR) {
			return sqlerr.New(sqlerr.CodeSchema, 0, "directory %q cannot be made: %q is a file", k.dir, dir)
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, checkPrefix+"*")
	if err != nil {
		return sqlerr.New(sqlerr.CodeAuth, 0, "directory %q cannot be written: %v", k.dir, err)
	}
	f.Close()
	if err := os.Remove(f.Name()); err != nil && !os.IsNotExist(err) {
		return failed("remove file \""+f.Name()+"\"", err)
	}
	removeChecks(dir)
	return nil
}

// removeChecks removes, as far as it may, what checks have left that were killed. To one
// that runs it does not matter who removes its file.
func removeChecks(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), checkPrefix) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Group implements connectors.Sink: the tables of one directory commit together.
func (k *sink) Group() string { return "file:" + k.dir }

// Close implements connectors.Sink.
func (k *sink) Close() error { return nil }

// failed is the error of a write: the job starts again from its checkpoint.
func failed(act string, err error) error {
	return sqlerr.Externalf(sqlerr.CodeNotReady, err, "cannot %s", act)
}

// checkPrefix begins the names of the files that Check makes.
const checkPrefix = hiddenPrefix + "check-"

// makeDir makes a directory and those above it, durably.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
		return failed("make directory \""+dir+"\"", err)
	}
	return syncDir(above)
}

// syncDir makes the names of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return failed("open directory \""+dir+"\"", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return failed("sync directory \""+dir+"\"", err)
	}
	return nil
}
