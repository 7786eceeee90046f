package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/crashpoint"
	"github.com/streamsql/streamsql/internal/stream"
)

// store encodes the frozen state of f and writes it, in the background, and then
// tells the coordinator that the task has sealed.
func (t *task) store(f *flight, done checkpoint.TaskSealed) {
	run, id := t.run, t.id
	done.Counts = t.counts()
	write := false
	for _, p := range f.parts {
		write = write || p.snap != nil && !p.snap.Empty()
	}
	if !write {
		fill(done.States, f.parts)
		run.event(done)
		return
	}
	// The task must not see blobs appear: they are filled in on a copy and taken over
	// with Complete, after the event has gone through the driver.
	run.exec.background(func(ctx context.Context) {
		crashpoint.Here("before-store")
		for i, p := range f.parts {
			blob, err := writeSnapshot(ctx, run, f.epoch, id, i, p)
			if err != nil {
				run.event(checkpoint.SealFailed{Task: id, Epoch: f.epoch, Err: err})
				return
			}
			if blob == nil {
				continue
			}
			if p.snap.Image() {
				p.blobs = nil
			}
			p.blobs = append(slices.Clone(p.blobs), *blob)
		}
		crashpoint.Here("after-seal")
		fill(done.States, f.parts)
		run.event(done)
	})
}

func fill(states []checkpoint.TaskState, parts []*sealed) {
	for i, p := range parts {
		states[i].Blobs = p.blobs
	}
}

func writeSnapshot(ctx context.Context, run *attempt, e stream.Epoch, id checkpoint.TaskID, i int, p *sealed) (*checkpoint.Blob, error) {
	if p.snap == nil || p.snap.Empty() {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := p.snap.Encode(&buf); err != nil {
		return nil, err
	}
	size := int64(buf.Cap())
	run.encoded.Add(size)
	defer run.encoded.Add(-size)
	kind := "delta"
	if p.snap.Image() {
		kind = "image"
	}
	name := fmt.Sprintf("%s%d-%s", checkpoint.BlobPrefix(run.job, run.n, e, p.node.plan.ID, id.Subtask), i, kind)
	if err := putBlob(ctx, run.cfg.Store, name, buf.Bytes()); err != nil {
		return nil, err
	}
	return &checkpoint.Blob{Name: name, Size: int64(buf.Len()), Kind: kind}, nil
}

// putBlob creates an object whose name nobody else uses. A create whose answer was
// lost is settled by reading it back.
func putBlob(ctx context.Context, s checkpoint.Store, name string, data []byte) error {
	var last error
	for range 3 {
		err := s.Create(ctx, name, data)
		if err == nil {
			return nil
		}
		old, gerr := s.Get(ctx, name)
		if gerr == nil && bytes.Equal(old, data) {
			return nil
		}
		last = err
		if errors.Is(err, checkpoint.ErrExists) {
			return fmt.Errorf("write %q: %w", name, err)
		}
	}
	return fmt.Errorf("write to the store: %w", last)
}

// counts gives the counters of the task's nodes, for the manifest.
func (t *task) counts() []checkpoint.NodeCounts {
	out := make([]checkpoint.NodeCounts, 0, len(t.chain.nodes))
	for _, n := range t.chain.nodes {
		out = append(out, checkpoint.NodeCounts{Node: n.plan.ID, Values: n.count.values()})
	}
	return out
}
