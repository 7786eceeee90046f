package checkpoint

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/stream"
	"github.com/streamsql/streamsql/internal/vec"
)

// Checksum identifies a manifest's bytes.
func Checksum(data []byte) string {
	var b [8]byte
	x := xxhash.Sum64(data)
	for i := range b {
		b[i] = byte(x >> (56 - 8*i))
	}
	return hex.EncodeToString(b[:])
}

// DecodeManifest reads a manifest and refuses with CodeVersion what a newer version wrote.
func DecodeManifest(data []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint, Msg: "the manifest is damaged", Err: err}
	}
	if m.Version > ManifestVersion {
		return nil, sqlerr.New(sqlerr.CodeVersion, 0, "the checkpoint has format %d, written by streamsql %s; this program reads up to %d", m.Version, m.Program, ManifestVersion).
			WithHint("Run the newer program.")
	}
	if m.Hash != "" && m.Hash != vec.HashVersion {
		return nil, sqlerr.New(sqlerr.CodeVersion, 0, "the checkpoint's keys are hashed by %q, written by streamsql %s; this program hashes by %q", m.Hash, m.Program, vec.HashVersion).
			WithHint("Run the program that wrote it.")
	}
	return m, nil
}

// Load reads the manifest of an epoch and its checksum.
func Load(ctx context.Context, s Store, job string, e stream.Epoch) (*Manifest, string, error) {
	data, err := s.Get(ctx, ManifestName(job, e))
	if err != nil {
		return nil, "", fmt.Errorf("read checkpoint %d: %w", e, err)
	}
	m, err := DecodeManifest(data)
	if err != nil {
		return nil, "", fmt.Errorf("read checkpoint %d: %w", e, err)
	}
	return m, Checksum(data), nil
}

// Epochs lists the epochs whose manifests exist, ascending, and the highest epoch
// that ever had one.
func Epochs(ctx context.Context, s Store, job string) (live []stream.Epoch, highest stream.Epoch, err error) {
	for _, dir := range []string{"manifest/", "tomb/"} {
		names, err := s.List(ctx, jobDir(job)+dir)
		if err != nil {
			return nil, 0, fmt.Errorf("list checkpoints: %w", err)
		}
		for _, name := range names {
			n, ok := number(name)
			if !ok {
				continue
			}
			highest = max(highest, stream.Epoch(n))
			if dir == "manifest/" {
				live = append(live, stream.Epoch(n))
			}
		}
	}
	return live, highest, nil
}

// ErrOvertaken is in the error of a manifest that cannot be made because an earlier
// attempt, thought dead, has made one since this attempt started. What it made is a
// checkpoint, and the job has to go on from there.
var ErrOvertaken = errors.New("an earlier attempt has made a checkpoint")

func overtaken(e stream.Epoch) error {
	return sqlerr.Externalf(sqlerr.CodeCheckpoint, ErrOvertaken, "checkpoint %d is there already", e)
}

// Put creates a manifest as the successor of the newest and then looks for a higher
// attempt. It returns the checksum. CodeFenced means that another attempt has taken
// over, whether or not the manifest was made; ErrOvertaken that this attempt must
// start again; ErrExists that the name is taken; on any other error the manifest
// may exist.
func Put(ctx context.Context, s Store, m *Manifest) (string, error) {
	live, _, err := Epochs(ctx, s, m.Job)
	if err != nil {
		return "", err
	}
	for _, e := range live {
		if e <= m.Prev {
			continue
		}
		// Not the one that this attempt saw last: its own of unknown fate, or another's.
		other, _, err := Load(ctx, s, m.Job, e)
		if err != nil {
			return "", err
		}
		switch {
		case other.Attempt > m.Attempt:
			return "", &sqlerr.Error{Class: sqlerr.User, Code: sqlerr.CodeFenced,
				Msg: fmt.Sprintf("attempt %d of this job made checkpoint %d and attempt %d ends", other.Attempt, e, m.Attempt)}
		case other.Attempt < m.Attempt:
			return "", overtaken(e)
		}
	}
	if err := CheckAttempt(ctx, s, m.Job, m.Attempt); err != nil {
		return "", err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return "", sqlerr.Internalf("encode manifest: %v", err)
	}
	if err := s.Create(ctx, ManifestName(m.Job, m.Epoch), data); err != nil {
		return "", fmt.Errorf("create checkpoint %d: %w", m.Epoch, err)
	}
	if err := CheckAttempt(ctx, s, m.Job, m.Attempt); err != nil {
		return "", err
	}
	return Checksum(data), nil
}

// Verify reads back everything that a manifest needs.
func Verify(ctx context.Context, s Store, m *Manifest) error {
	for _, b := range Blobs(m) {
		data, err := s.Get(ctx, b.Name)
		if err != nil {
			return Damaged(m.Epoch, b.Name, err)
		}
		if int64(len(data)) != b.Size {
			return Damaged(m.Epoch, b.Name, fmt.Errorf("%d bytes in place of %d", len(data), b.Size))
		}
	}
	return nil
}

// VerifyJob reads every object of a job back, also those that no checkpoint needs, and
// returns an error for each that is damaged.
func VerifyJob(ctx context.Context, s Store, job string) (damaged []error, err error) {
	names, err := s.List(ctx, jobDir(job))
	if err != nil {
		return nil, fmt.Errorf("list the objects of job %q: %w", job, err)
	}
	for _, name := range names {
		_, err := s.Get(ctx, name)
		switch {
		case err == nil || errors.Is(err, ErrNotFound): // collected meanwhile
		case sqlerr.CodeOf(err) == sqlerr.CodeCheckpoint:
			damaged = append(damaged, err)
		default:
			return nil, err
		}
	}
	return damaged, nil
}

// Damaged turns the failure to read an object of a checkpoint into CodeCheckpoint,
// unless the store as a whole does not answer.
func Damaged(e stream.Epoch, name string, err error) error {
	if x := sqlerr.As(err); !errors.Is(err, ErrNotFound) && x != nil && x.Code != sqlerr.CodeCheckpoint {
		return err
	}
	msg := fmt.Sprintf("checkpoint %d is damaged", e)
	if quoted := fmt.Sprintf("object %q", name); !strings.Contains(err.Error(), quoted) {
		msg += ": " + quoted
	}
	return &sqlerr.Error{Class: sqlerr.External, Code: sqlerr.CodeCheckpoint, Msg: msg, Err: err}
}

// Blobs lists the objects that a manifest needs.
func Blobs(m *Manifest) []Blob {
	var out []Blob
	for i := range m.Tasks {
		out = append(out, m.Tasks[i].Blobs...)
	}
	for i := range m.Sinks {
		out = append(out, m.Sinks[i].Rows...)
	}
	return out
}

// Discard takes a damaged manifest away and leaves a tombstone. Its blobs are collected
// in time.
func Discard(ctx context.Context, s Store, job string, e stream.Epoch) error {
	err := s.Create(ctx, tombName(job, e), []byte{})
	if err == nil || errors.Is(err, ErrExists) {
		err = s.Delete(ctx, ManifestName(job, e))
	}
	if err != nil {
		return fmt.Errorf("discard checkpoint %d: %w", e, err)
	}
	return nil
}

// Sweep removes the manifests that are not in keep, each leaving a tombstone, and
// then the blobs that no manifest left names. Blobs of epochs above the newest kept
// one may be on their way into a manifest and stay. It fails with CodeFenced, having
// removed nothing, when a higher attempt exists.
func Sweep(ctx context.Context, s Store, job string, attempt uint64, keep []stream.Epoch) error {
	if err := CheckAttempt(ctx, s, job, attempt); err != nil {
		return err
	}
	live, _, err := Epochs(ctx, s, job)
	if err != nil {
		return err
	}
	newest := slices.Max(keep)
	used := make(map[string]bool)
	var gone []stream.Epoch
	for _, e := range live {
		if e <= newest && !slices.Contains(keep, e) {
			gone = append(gone, e)
			continue
		}
		m, _, err := Load(ctx, s, job, e)
		if err != nil {
			return err
		}
		for _, b := range Blobs(m) {
			used[b.Name] = true
		}
	}
	for _, e := range gone {
		if err := Discard(ctx, s, job, e); err != nil {
			return err
		}
	}
	if err := sweepTombs(ctx, s, job); err != nil {
		return err
	}
	names, err := s.List(ctx, jobDir(job)+"blob/")
	if err != nil {
		return fmt.Errorf("collect blobs: %w", err)
	}
	for _, name := range names {
		if used[name] || blobEpoch(name) > newest {
			continue
		}
		if err := s.Delete(ctx, name); err != nil {
			return fmt.Errorf("collect blobs: %w", err)
		}
	}
	return nil
}

// sweepTombs keeps the newest tombstone: it says what all older ones say.
func sweepTombs(ctx context.Context, s Store, job string) error {
	names, err := s.List(ctx, jobDir(job)+"tomb/")
	if err != nil {
		return fmt.Errorf("collect tombstones: %w", err)
	}
	for i := 0; i+1 < len(names); i++ {
		if err := s.Delete(ctx, names[i]); err != nil {
			return fmt.Errorf("collect tombstones: %w", err)
		}
	}
	return nil
}

func blobEpoch(name string) stream.Epoch {
	var attempt, epoch uint64
	base := name[1+lastSlash(name):]
	if n, err := fmt.Sscanf(base, "%d-%d-", &attempt, &epoch); n != 2 || err != nil {
		return 0
	}
	return stream.Epoch(epoch)
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}
