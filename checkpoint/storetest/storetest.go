// Package storetest is the conformance suite of checkpoint.Store.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamsql/streamsql/checkpoint"
)

// Run checks a store. open gives an empty one, and the suite may open many.
func Run(t *testing.T, open func(t *testing.T) checkpoint.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, checkpoint.Store)
	}{
		{"objects come back as they were", roundTrip},
		{"a name is taken once", taken},
		{"of many creators one wins", race},
		{"what is deleted is gone", deleted},
		{"lists are sorted and by prefix", list},
		{"bytes are the caller's", ownership},
		{"a cancelled call does nothing", cancelled},
		{"readers see whole objects", whole},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

var ctx = context.Background()

func create(t *testing.T, s checkpoint.Store, name string, data string) {
	t.Helper()
	if err := s.Create(ctx, name, []byte(data)); err != nil {
		t.Fatalf("create %q: %v", name, err)
	}
}

func wantObject(t *testing.T, s checkpoint.Store, name string, data string) {
	t.Helper()
	b, err := s.Get(ctx, name)
	if err != nil || string(b) != data {
		t.Fatalf("get %q: %d bytes, %v, want %d bytes", name, len(b), err, len(data))
	}
}

func wantMissing(t *testing.T, s checkpoint.Store, name string) {
	t.Helper()
	if _, err := s.Get(ctx, name); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatalf("get %q: error is %v, want %v", name, err, checkpoint.ErrNotFound)
	}
}

func wantList(t *testing.T, s checkpoint.Store, prefix string, want ...string) {
	t.Helper()
	got, err := s.List(ctx, prefix)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("list %q: %q, %v, want %q", prefix, got, err, want)
	}
}

func roundTrip(t *testing.T, s checkpoint.Store) {
	for name, data := range map[string]string{
		"plain":                          "x",
		"empty":                          "",
		"job/4f/manifest/00000000000042": "{}",
		"job/4f/blob/1-2-3":              strings.Repeat("\x00\xff\n", 1<<19),
		"name/a%20b%2Fc/0001":            "escaped",
		"name/..a/b..":                   "dots",
	} {
		wantMissing(t, s, name)
		create(t, s, name, data)
		wantObject(t, s, name, data)
	}
	wantMissing(t, s, "job/4f")
	wantMissing(t, s, "plain/below")
}

func taken(t *testing.T, s checkpoint.Store) {
	create(t, s, "a/1", "first")
	for _, data := range []string{"second", "first", ""} {
		if err := s.Create(ctx, "a/1", []byte(data)); !errors.Is(err, checkpoint.ErrExists) {
			t.Fatalf("second create: error is %v, want %v", err, checkpoint.ErrExists)
		}
	}
	wantObject(t, s, "a/1", "first")
}

func race(t *testing.T, s checkpoint.Store) {
	for round := range 10 {
		name := fmt.Sprintf("race/%d/x", round)
		var wg sync.WaitGroup
		var winners atomic.Int32
		var winner atomic.Value
		for i := range 8 {
			wg.Go(func() {
				data := fmt.Sprintf("writer %d", i)
				switch err := s.Create(ctx, name, []byte(data)); {
				case err == nil:
					winners.Add(1)
					winner.Store(data)
				case !errors.Is(err, checkpoint.ErrExists):
					t.Errorf("create: %v", err)
				}
			})
		}
		wg.Wait()
		if winners.Load() != 1 {
			t.Fatalf("%d creators won", winners.Load())
		}
		wantObject(t, s, name, winner.Load().(string))
	}
}

func deleted(t *testing.T, s checkpoint.Store) {
	create(t, s, "a/1", "one")
	create(t, s, "a/2", "two")
	for range 2 {
		if err := s.Delete(ctx, "a/1"); err != nil {
			t.Fatal(err)
		}
		wantMissing(t, s, "a/1")
	}
	for _, name := range []string{"a", "never", "never/was", "a/2/below"} {
		if err := s.Delete(ctx, name); err != nil {
			t.Fatalf("delete %q: %v", name, err)
		}
	}
	wantObject(t, s, "a/2", "two")
	create(t, s, "a/1", "again")
	wantObject(t, s, "a/1", "again")
}

func list(t *testing.T, s checkpoint.Store) {
	wantList(t, s, "")
	wantList(t, s, "no/such")
	for _, name := range []string{"b/2", "b/10", "a/x/y", "b/1", "bb/3", "a-b", "b/1x/z"} {
		create(t, s, name, name)
	}
	wantList(t, s, "", "a-b", "a/x/y", "b/1", "b/10", "b/1x/z", "b/2", "bb/3")
	wantList(t, s, "b/", "b/1", "b/10", "b/1x/z", "b/2")
	wantList(t, s, "b/1", "b/1", "b/10", "b/1x/z")
	wantList(t, s, "b", "b/1", "b/10", "b/1x/z", "b/2", "bb/3")
	wantList(t, s, "a/x/y", "a/x/y")
	wantList(t, s, "b/1/")
	wantList(t, s, "c")
}

func ownership(t *testing.T, s checkpoint.Store) {
	data := []byte("data")
	if err := s.Create(ctx, "a", data); err != nil {
		t.Fatal(err)
	}
	data[0] = 'X'
	wantObject(t, s, "a", "data")
	got, err := s.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'Y'
	_ = append(got, "more"...)
	wantObject(t, s, "a", "data")
}

func cancelled(t *testing.T, s checkpoint.Store) {
	create(t, s, "a", "data")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Get(gone, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("get: error is %v", err)
	}
	if err := s.Create(gone, "b", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("create: error is %v", err)
	}
	if err := s.Delete(gone, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: error is %v", err)
	}
	if _, err := s.List(gone, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("list: error is %v", err)
	}
	wantList(t, s, "", "a")
}

// whole reads and lists while others create: an object is there entirely or not.
func whole(t *testing.T, s checkpoint.Store) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 10 {
				if err := s.Create(ctx, fmt.Sprintf("w/%d-%d", w, i), body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 30 {
		names, err := s.List(ctx, "w/")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if b, err := s.Get(ctx, name); err != nil || !bytes.Equal(b, body) {
				t.Fatalf("get %q: %d bytes, %v", name, len(b), err)
			}
		}
	}
	wg.Wait()
}
