package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/checkpoint/memstore"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
)

var ctx = context.Background()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || sqlerr.CodeOf(err) != want {
		t.Fatalf("got %v, want code %s", err, want)
	}
}

// says checks a whole message of CodeCheckpoint.
func says(t *testing.T, err error, want string) {
	t.Helper()
	code(t, err, sqlerr.CodeCheckpoint)
	if err.Error() != want {
		t.Errorf("the error says %q, want %q", err, want)
	}
}

// blob writes an object for an epoch and returns its name.
func blob(t *testing.T, s checkpoint.Store, attempt uint64, e stream.Epoch, what string) checkpoint.Blob {
	t.Helper()
	name := checkpoint.BlobPrefix("j", attempt, e, 1, 0) + what
	must(t, s.Create(ctx, name, []byte(what)))
	return checkpoint.Blob{Name: name, Size: int64(len(what)), Kind: "image"}
}

func manifest(attempt uint64, e, prev stream.Epoch, blobs ...checkpoint.Blob) *checkpoint.Manifest {
	return &checkpoint.Manifest{Version: checkpoint.ManifestVersion, Job: "j", Attempt: attempt, Epoch: e, Prev: prev,
		Tasks: []checkpoint.TaskState{{Node: 1, Blobs: blobs}}}
}

func TestNames(t *testing.T) {
	s := memstore.New()
	id, err := checkpoint.JobOf(ctx, s, "a/b c")
	must(t, err)
	if id != "" {
		t.Fatalf("a job before there is one: %q", id)
	}
	must(t, checkpoint.BindName(ctx, s, "a/b c", "one"))
	must(t, checkpoint.BindName(ctx, s, "a/b c", "one"))
	must(t, checkpoint.BindName(ctx, s, "a", "other"))
	must(t, checkpoint.BindName(ctx, s, "a/b c", "two"))
	id, err = checkpoint.JobOf(ctx, s, "a/b c")
	must(t, err)
	if id != "two" {
		t.Fatalf("the name means %q", id)
	}
}

func TestAttempts(t *testing.T) {
	s := memstore.New()
	for want := uint64(1); want <= 12; want++ {
		n, err := checkpoint.NewAttempt(ctx, s, "j")
		must(t, err)
		if n != want {
			t.Fatalf("attempt %d, want %d", n, want)
		}
	}
	must(t, checkpoint.CheckAttempt(ctx, s, "j", 12))
	code(t, checkpoint.CheckAttempt(ctx, s, "j", 11), sqlerr.CodeFenced)
	n, err := checkpoint.NewAttempt(ctx, s, "k")
	must(t, err)
	if n != 1 {
		t.Fatalf("another job's first attempt is %d", n)
	}
	// Another store, in which the attempt never was.
	err = checkpoint.CheckAttempt(ctx, memstore.New(), "j", 12)
	code(t, err, sqlerr.CodeCheckpoint)
	if !sqlerr.As(err).Retry {
		t.Errorf("%v is final", err)
	}
}

// TestPut is the rules by which a manifest is created.
func TestPut(t *testing.T) {
	s := memstore.New()
	attempt := func() uint64 {
		n, err := checkpoint.NewAttempt(ctx, s, "j")
		must(t, err)
		return n
	}
	put := func(m *checkpoint.Manifest) error {
		_, err := checkpoint.Put(ctx, s, m)
		return err
	}
	first := attempt()
	must(t, put(manifest(first, 1, 0)))
	must(t, put(manifest(first, 2, 1)))
	if err := put(manifest(first, 2, 1)); !errors.Is(err, checkpoint.ErrExists) {
		t.Fatalf("the same name again: %v", err)
	}
	// Its own manifest of unknown fate in between does not matter.
	must(t, put(manifest(first, 4, 1)))
	second := attempt()
	code(t, put(manifest(first, 5, 4)), sqlerr.CodeFenced)
	if _, _, err := checkpoint.Load(ctx, s, "j", 5); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatalf("a stale attempt made a checkpoint: %v", err)
	}
	must(t, put(manifest(second, 6, 4)))
	// A zombie's create that was on its way lands after the living attempt looked.
	must(t, s.Create(ctx, checkpoint.ManifestName("j", 7), []byte(`{"version":1,"job":"j","attempt":1,"epoch":7,"prev":4}`)))
	if err := put(manifest(second, 8, 6)); !errors.Is(err, checkpoint.ErrOvertaken) {
		t.Fatalf("after a zombie's checkpoint: %v", err)
	}
	m, sum, err := checkpoint.Load(ctx, s, "j", 6)
	must(t, err)
	data, err := s.Get(ctx, checkpoint.ManifestName("j", 6))
	must(t, err)
	if m.Attempt != second || sum != checkpoint.Checksum(data) {
		t.Fatalf("loaded attempt %d, checksum %s", m.Attempt, sum)
	}
	for _, m := range []string{`{"version":99,"program":"9.9"}`, `{"version":1,"program":"0.0.1","hash":"ssh0"}`} {
		_, err = checkpoint.DecodeManifest([]byte(m))
		code(t, err, sqlerr.CodeVersion)
	}

	// An attempt that starts between the look and the create is found by the second look.
	late := lateAttempt{Store: memstore.New()}
	n, err := checkpoint.NewAttempt(ctx, late.Store, "j")
	must(t, err)
	_, err = checkpoint.Put(ctx, late, manifest(n, 1, 0))
	code(t, err, sqlerr.CodeFenced)
}

// lateAttempt starts another attempt before every manifest.
type lateAttempt struct{ checkpoint.Store }

func (s lateAttempt) Create(ctx context.Context, name string, data []byte) error {
	if name == checkpoint.ManifestName("j", 1) {
		if _, err := checkpoint.NewAttempt(ctx, s.Store, "j"); err != nil {
			return err
		}
	}
	return s.Store.Create(ctx, name, data)
}

// TestSweep collects: what kept manifests need stays, what a later manifest may need
// stays, epochs are not forgotten.
func TestSweep(t *testing.T) {
	s := memstore.New()
	n, err := checkpoint.NewAttempt(ctx, s, "j")
	must(t, err)
	shared := blob(t, s, n, 1, "shared")
	only1 := blob(t, s, n, 1, "one")
	aborted := blob(t, s, n, 2, "aborted")
	three := blob(t, s, n, 3, "three")
	ahead := blob(t, s, n, 4, "ahead")
	for _, m := range []*checkpoint.Manifest{manifest(n, 1, 0, shared, only1), manifest(n, 3, 1, shared, three)} {
		_, err := checkpoint.Put(ctx, s, m)
		must(t, err)
	}
	must(t, checkpoint.Sweep(ctx, s, "j", n, []stream.Epoch{3}))
	for _, x := range []struct {
		b    checkpoint.Blob
		stay bool
	}{{shared, true}, {only1, false}, {aborted, false}, {three, true}, {ahead, true}} {
		_, err := s.Get(ctx, x.b.Name)
		if (err == nil) != x.stay {
			t.Errorf("%s: %v, want it to stay: %v", x.b.Name, err, x.stay)
		}
	}
	live, highest, err := checkpoint.Epochs(ctx, s, "j")
	must(t, err)
	if fmt.Sprint(live) != "[3]" || highest != 3 {
		t.Errorf("live %v, highest %d", live, highest)
	}
	m, _, err := checkpoint.Load(ctx, s, "j", 3)
	must(t, err)
	must(t, checkpoint.Verify(ctx, s, m))
	s.Damage(three.Name)
	says(t, checkpoint.Verify(ctx, s, m), fmt.Sprintf("checkpoint 3 is damaged: object %q is damaged: its checksum does not match", three.Name))
	must(t, s.Delete(ctx, three.Name))
	says(t, checkpoint.Verify(ctx, s, m), fmt.Sprintf("checkpoint 3 is damaged: object %q: object not found", three.Name))

	must(t, checkpoint.Discard(ctx, s, "j", 3))
	live, highest, err = checkpoint.Epochs(ctx, s, "j")
	must(t, err)
	if len(live) != 0 || highest != 3 {
		t.Errorf("after discarding all: live %v, highest %d", live, highest)
	}
	_, err = checkpoint.NewAttempt(ctx, s, "j")
	must(t, err)
	code(t, checkpoint.Sweep(ctx, s, "j", n, []stream.Epoch{3}), sqlerr.CodeFenced)
}

// TestSavepointIsSelfContained writes a savepoint, loses the store, and imports it
// under another job; the savepoint is lost in turn.
func TestSavepointIsSelfContained(t *testing.T) {
	s, dir, other := memstore.New(), memstore.New(), memstore.New()
	b := blob(t, s, 1, 5, "state")
	m := manifest(1, 5, 4, b)
	m.Sinks = []checkpoint.SinkState{{Node: 2, Mode: "commit", Target: "db", Rows: []checkpoint.Blob{{Name: "gone"}}, Tokens: [][]byte{{1}}}}
	must(t, checkpoint.WriteSavepoint(ctx, s, dir, m))
	must(t, checkpoint.WriteSavepoint(ctx, s, dir, m)) // its answer was lost
	later := blob(t, s, 1, 6, "later")
	code(t, checkpoint.WriteSavepoint(ctx, s, dir, manifest(1, 6, 5, later)), sqlerr.CodeCheckpoint)
	if _, err := dir.Get(ctx, later.Name); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a savepoint that was refused left state in the other: %v", err)
	}
	sp, err := checkpoint.ReadSavepoint(ctx, dir)
	must(t, err)
	if !sp.Savepoint || len(sp.Sinks[0].Rows)+len(sp.Sinks[0].Tokens) != 0 {
		t.Fatalf("savepoint holds pending commits: %+v", sp.Sinks)
	}
	must(t, checkpoint.Verify(ctx, dir, sp))
	got, err := checkpoint.ImportSavepoint(ctx, dir, other, "k", 7)
	must(t, err)
	must(t, checkpoint.Verify(ctx, other, got))
	if got.Job != "k" || got.Epoch != 0 || got.Tasks[0].Blobs[0].Name == b.Name {
		t.Fatalf("imported as %+v", got)
	}
	_, err = checkpoint.ReadSavepoint(ctx, memstore.New())
	code(t, err, sqlerr.CodeCheckpoint)
}

// TestFaultyStore does everything over a store that fails, or does and reports
// failure: names, attempts and manifests end up right or not at all.
func TestFaultyStore(t *testing.T) {
	for seed := range uint64(50) {
		s := memstore.NewFaulty(seed, memstore.Faults{Fail: 0.2, Lost: 0.2, Twice: 0.1})
		var last uint64
		for range 20 {
			n, err := checkpoint.NewAttempt(ctx, s, "j")
			if err != nil {
				continue
			}
			if n <= last {
				t.Fatalf("seed %d: attempt %d after %d", seed, n, last)
			}
			last = n
		}
		s.SetFaults(memstore.Faults{})
		last, err := checkpoint.NewAttempt(ctx, s, "j")
		must(t, err)
		s.SetFaults(memstore.Faults{Fail: 0.2, Lost: 0.2, Twice: 0.1})
		var prev stream.Epoch
		for e := stream.Epoch(1); e < 20; e++ {
			m := manifest(last, e, prev)
			if _, err := checkpoint.Put(ctx, s, m); err != nil {
				if sqlerr.CodeOf(err) == sqlerr.CodeFenced {
					t.Fatalf("seed %d: %v", seed, err)
				}
				continue
			}
			prev = e
		}
		s.SetFaults(memstore.Faults{})
		live, highest, err := checkpoint.Epochs(ctx, s, "j")
		must(t, err)
		if len(live) == 0 || highest < prev {
			t.Fatalf("seed %d: live %v, highest %d, made %d", seed, live, highest, prev)
		}
	}
}
