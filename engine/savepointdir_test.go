package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsql/streamsql/engine"
	"github.com/streamsql/streamsql/internal/sqlerr"
)

// TestSavepointDirectory: a savepoint does not go into a directory that holds something
// else, and does not take it along when it is dropped; looking leaves no trace.
func TestSavepointDirectory(t *testing.T) {
	ctx := context.Background()
	e := open(t, engine.Options{Settings: map[string]string{"checkpoint.interval": "50ms"}})
	j, err := e.Run(ctx, load(t, e, "j", endless), engine.Start{})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	mine := filepath.Join(home, "mine")
	write(t, mine, "precious")
	refused := func(what string, err error) {
		t.Helper()
		if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint || !strings.Contains(err.Error(), `something else than a savepoint: "mine"`) {
			t.Errorf("%s gives %v", what, err)
		}
		if _, err := os.Stat(mine); err != nil {
			t.Fatalf("after %s: %v", what, err)
		}
	}
	refused("a savepoint", j.Savepoint(ctx, home))
	refused("a stop", j.Stop(ctx, home))
	if !j.Running() {
		t.Error("a stop that was refused has ended the job")
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	sp := filepath.Join(home, "sp")
	if err := j.Stop(wait, sp); err != nil {
		t.Fatal(err)
	}
	_, err = e.SavepointOf(ctx, "j", home)
	refused("a savepoint of the stopped job", err)
	_, _, err = engine.OpenSavepoint(ctx, home)
	if sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint {
		t.Errorf("no savepoint gives %v", err)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if err := os.Rename(mine, filepath.Join(sp, "mine")); err != nil {
		t.Fatal(err)
	}
	mine = filepath.Join(sp, "mine")
	refused("a drop", engine.DropSavepoint(ctx, sp))
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if err := engine.DropSavepoint(ctx, sp); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(sp); !os.IsNotExist(err) {
		t.Errorf("after the drop: %v", err)
	}
	for _, path := range []string{filepath.Join(sp, "nosuch"), os.Args[0]} {
		if _, _, err := engine.OpenSavepoint(ctx, path); sqlerr.CodeOf(err) != sqlerr.CodeCheckpoint || !strings.Contains(err.Error(), "there is no savepoint at") {
			t.Errorf("%s gives %v", path, err)
		}
	}
	if err := e.VerifyJob(ctx, "nosuch"); sqlerr.CodeOf(err) != sqlerr.CodeUndefinedObject {
		t.Errorf("verifying no job gives %v", err)
	}
}
