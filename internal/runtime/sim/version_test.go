package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
	"github.com/streamsql/streamsql/internal/runtime"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestCheckpointOfAnotherVersion: a newest checkpoint that another version of the program
// made is refused and stays. It is not damaged: none before it is taken in its place,
// though no sink shows it yet.
func TestCheckpointOfAnotherVersion(t *testing.T) {
	ctx := context.Background()
	replace := func(w *world, name string, change func([]byte) []byte) {
		t.Helper()
		data, err := w.store.Get(ctx, name)
		if err == nil {
			err = w.store.Delete(ctx, name)
		}
		if err == nil {
			err = w.store.Create(ctx, name, change(slices.Clone(data)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, change := range map[string]func(w *world, manifest string, m *checkpoint.Manifest){
		"format 2": func(w *world, manifest string, _ *checkpoint.Manifest) {
			replace(w, manifest, func(b []byte) []byte { return bytes.Replace(b, []byte(`"version":1`), []byte(`"version":2`), 1) })
		},
		`hashed by "ssh0"`: func(w *world, manifest string, _ *checkpoint.Manifest) {
			replace(w, manifest, func(b []byte) []byte { return bytes.Replace(b, []byte(`"hash":"ssh1"`), []byte(`"hash":"ssh0"`), 1) })
		},
		"format version 2": func(w *world, _ string, m *checkpoint.Manifest) {
			for _, b := range checkpoint.Blobs(m) {
				if b.Kind == "rows" {
					continue
				}
				replace(w, b.Name, func(b []byte) []byte {
					b[8] = 2
					binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], crc32.MakeTable(crc32.Castagnoli)))
					return b
				})
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			noLeaks(t)
			w := real(t, 1, 2000)
			w.table.Unbounded = true
			w.cfg.Settings.Retained = 5
			j := w.start()
			soon(t, "a checkpoint", func() bool { return j.Status().Checkpoints > 0 })
			if err := j.Stop(ctx, ""); err != nil {
				t.Fatal(err)
			}
			names, err := w.store.List(ctx, "job/"+j.ID()+"/manifest/")
			if err != nil || len(names) < 2 {
				t.Fatalf("%d manifests, %v", len(names), err)
			}
			last := names[len(names)-1]
			data, err := w.store.Get(ctx, last)
			if err != nil {
				t.Fatal(err)
			}
			m, err := checkpoint.DecodeManifest(data)
			if err != nil {
				t.Fatal(err)
			}
			w.db.fence.Epoch, w.early.fence.Epoch, w.other.fence.Epoch = m.Prev, m.Prev, m.Prev
			change(w, last, m)
			_, err = runtime.Start(ctx, w.cfg)
			if sqlerr.CodeOf(err) != sqlerr.CodeVersion || !strings.Contains(err.Error(), what) {
				t.Errorf("got %v", err)
			}
			if now, err := w.store.List(ctx, "job/"+j.ID()+"/manifest/"); err != nil || !slices.Equal(now, names) {
				t.Errorf("of %q there are %q, %v", names, now, err)
			}
		})
	}
}
