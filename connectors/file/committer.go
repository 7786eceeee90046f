package file

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/streamsql/streamsql/connectors"
	"github.com/streamsql/streamsql/internal/flock"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

// fenceName is the file in which a directory remembers who writes it and what was
// committed last; lockName is locked while it is looked at and changed.
const (
	fenceName = ".streamsql-fence"
	lockName  = ".streamsql-lock"
)

// fence is the content of the fence file.
type fence struct {
	Job      string       `json:"job"`
	Attempt  uint64       `json:"attempt"`
	Epoch    stream.Epoch `json:"epoch"`
	Checksum string       `json:"checksum,omitempty"`
	// Free: the job has ended well, and another may have the directory.
	Free bool `json:"free,omitempty"`
	// Before is the fence of another job that this one replaced and has committed nothing
	// behind: should it never do so, nothing has changed.
	Before *fence `json:"before,omitempty"`
}

// of is what the directory remembers of a job, nil when that counts no longer.
func (f *fence) of(job string) *fence {
	for f != nil && f.Job != job && f.Epoch == 0 {
		f = f.Before
	}
	if f == nil || f.Job != job {
		return nil
	}
	return f
}

// committer makes the files of an epoch visible by renaming them, and then moves the
// fence, by which a reader of the directory can tell which epochs are whole. A commit that
// stops between two renames is completed by the next.
type committer struct {
	k       *sink
	job     string
	attempt uint64
	// swept: no sealed file of an earlier attempt is left. One whose epoch is behind the
	// fence was never decided, one before it may be of an epoch that is still to commit.
	swept bool
}

// Committer implements connectors.Sink.
func (k *sink) Committer(ctx context.Context, job string, attempt uint64) (connectors.Committer, error) {
	if err := k.Check(ctx); err != nil {
		return nil, err
	}
	return &committer{k: k, job: job, attempt: attempt}, nil
}

// locked runs f while no other process of this machine looks at or moves the fence.
func (c *committer) locked(f func(fence) error) error {
	name := filepath.Join(c.k.dir, lockName)
	l, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return failed("open file \""+name+"\"", err)
	}
	defer l.Close()
	if err := flock.Lock(l); err != nil {
		return failed("lock file \""+name+"\"", err)
	}
	now, err := c.read()
	if err != nil {
		return err
	}
	return f(now)
}

func (c *committer) read() (f fence, err error) {
	name := filepath.Join(c.k.dir, fenceName)
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return f, nil
	}
	if err != nil {
		return f, failed("read file \""+name+"\"", err)
	}
	if err := json.Unmarshal(text, &f); err != nil || f.Job == "" {
		return f, sqlerr.New(sqlerr.CodeFenced, 0, "file %q is no fence of streamsql", name)
	}
	return f, nil
}

func (c *committer) write(f fence) error {
	text, err := json.Marshal(f)
	if err != nil {
		return sqlerr.Internalf("encode a fence: %v", err)
	}
	name := filepath.Join(c.k.dir, fenceName)
	tmp, err := os.OpenFile(name+"-new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = tmp.Write(text)
		if err == nil {
			err = tmp.Sync()
		}
		if e := tmp.Close(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = os.Rename(name+"-new", name)
	}
	if err != nil {
		return failed("write file \""+name+"\"", err)
	}
	return syncDir(c.k.dir)
}

// Fence implements connectors.Committer. The fence of another job is returned as it is,
// unless that one has replaced ours and committed nothing.
func (c *committer) Fence(context.Context) (connectors.Fence, error) {
	f, err := c.read()
	if own := f.of(c.job); own != nil {
		f = *own
	}
	return connectors.Fence{Known: f.Job != "", Job: f.Job, Attempt: f.Attempt, Epoch: f.Epoch, Checksum: f.Checksum}, err
}

// Acquire implements connectors.Committer. It makes the directory when it is missing and
// removes what earlier attempts were still writing. Refused, it leaves nothing.
func (c *committer) Acquire(_ context.Context, _ []connectors.Sink, takeOver bool) error {
	if err := makeDir(c.k.dir); err != nil {
		return err
	}
	return c.locked(func(f fence) error {
		found, own := f, f.of(c.job)
		switch {
		case f.Job == "":
		case f.Job != c.job && !f.Free && !takeOver:
			return sqlerr.New(sqlerr.CodeFenced, 0, "directory %q is written by another job", c.k.dir).
				WithDetail("That job is %q, it committed epoch %d.", f.Job, f.Epoch).
				WithHint("Take the directory over with --take-over, or write to another.")
		case own != nil && own.Attempt > c.attempt:
			return c.fenced()
		}
		switch {
		case own != nil:
			f = *own
		case f.Job != "":
			f = fence{Before: &found}
		}
		f.Job, f.Attempt, f.Free = c.job, c.attempt, false
		if err := c.write(f); err != nil {
			return err
		}
		for g := &found; own != nil && g.Job != c.job; g = g.Before {
			if _, err := c.sweep(g.Job, func(hidden) bool { return true }); err != nil {
				return err
			}
		}
		_, err := c.sweep(c.job, func(h hidden) bool { return h.epoch == 0 && h.attempt < c.attempt })
		return err
	})
}

// Relinquish implements connectors.Relinquisher.
func (c *committer) Relinquish(context.Context) error {
	return c.locked(func(f fence) error {
		if f.Job != c.job || f.Attempt != c.attempt {
			return c.fenced()
		}
		if f.Epoch == 0 && f.Before != nil {
			return c.write(*f.Before)
		}
		f.Free = true
		return c.write(f)
	})
}

func (c *committer) fenced() error {
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeFenced,
		Msg: "another attempt of the job writes directory \"" + c.k.dir + "\""}
}

// sweep removes the hidden files of a job that are orphans and counts those of earlier
// attempts that are none.
func (c *committer) sweep(job string, orphan func(hidden) bool) (left int, err error) {
	list, err := os.ReadDir(c.k.dir)
	if err != nil {
		return 0, failed("list directory \""+c.k.dir+"\"", err)
	}
	for _, e := range list {
		h, ok := parseHidden(e.Name())
		switch {
		case !ok || h.job != plain(job):
			continue
		case !orphan(h):
			if h.attempt < c.attempt {
				left++
			}
			continue
		}
		if err := os.Remove(filepath.Join(c.k.dir, e.Name())); err != nil && !os.IsNotExist(err) {
			return left, failed("remove file \""+e.Name()+"\"", err)
		}
	}
	return left, nil
}

// Commit implements connectors.Committer.
func (c *committer) Commit(_ context.Context, id connectors.CommitID, parts []connectors.Part) error {
	tokens, err := c.tokens(parts)
	if err != nil {
		return err
	}
	return c.locked(func(f fence) error {
		switch {
		case f.Job != c.job || f.Attempt != c.attempt:
			return c.fenced()
		case f.Epoch == id.Epoch:
			return nil
		case f.Epoch > id.Epoch:
			return sqlerr.New(sqlerr.CodeFenced, 0, "directory %q already holds epoch %d, epoch %d cannot be committed behind it", c.k.dir, f.Epoch, id.Epoch)
		}
		for _, t := range tokens {
			for _, s := range t.Files {
				if err := c.show(s); err != nil {
					return err
				}
			}
		}
		if err := syncDir(c.k.dir); err != nil {
			return err
		}
		if err := c.k.point("shown"); err != nil {
			return err
		}
		before := f.Before
		f.Epoch, f.Checksum, f.Before = id.Epoch, id.Checksum, nil
		if err := c.write(f); err != nil {
			return err
		}
		for ; before != nil; before = before.Before {
			if _, err := c.sweep(before.Job, func(hidden) bool { return true }); err != nil {
				return err
			}
		}
		if err := c.k.point("fenced"); err != nil {
			return err
		}
		if c.swept {
			return nil
		}
		left, err := c.sweep(c.job, func(h hidden) bool { return h.attempt < c.attempt && h.epoch <= id.Epoch })
		c.swept = left == 0
		return err
	})
}

// tokens reads the tokens of the writers.
func (c *committer) tokens(parts []connectors.Part) ([]token, error) {
	var out []token
	for _, p := range parts {
		for _, text := range p.Tokens {
			var t token
			if err := json.Unmarshal(text, &t); err != nil {
				return nil, sqlerr.New(sqlerr.CodeCheckpoint, 0, "a token of directory %q cannot be read", c.k.dir)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// show renames a sealed file, which may have happened before.
func (c *committer) show(s sealed) error {
	from, to := filepath.Join(c.k.dir, s.Hidden), filepath.Join(c.k.dir, s.Visible)
	if err := c.k.point("show"); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if os.IsNotExist(err) {
		if _, e := os.Stat(to); e == nil {
			return nil
		}
		return sqlerr.New(sqlerr.CodeGap, 0, "file %q is gone, whose epoch has to become visible", from).
			WithHint("Put it back, or start the job anew with --fresh.")
	}
	if err != nil {
		return failed("rename file \""+from+"\"", err)
	}
	return nil
}

// Close implements connectors.Committer.
func (c *committer) Close() error { return nil }
