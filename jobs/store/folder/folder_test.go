package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/folder"
	"github.com/bellwether-compute/bellwether/jobs/store/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *folder.Blobs {
	t.Helper()
	b, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlobs(t *testing.T) {
	storetest.TestBlobs(t, func(t *testing.T) store.Blobs { return open(t, filepath.Join(t.TempDir(), "new")) })
}

// TestRelativeFolder checks that a write to a folder with a relative name ends.
func TestRelativeFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	b := open(t, "a")
	if _, err := b.Put(t.Context(), "kept/x", []byte("1"), store.IfAbsent); err != nil {
		t.Fatal(err)
	}
	if keys, err := b.List(t.Context(), "kept/"); err != nil || len(keys) != 1 {
		t.Errorf("keys %q, %v", keys, err)
	}
}

// TestTwoProcesses checks that a folder that was opened twice is one storage.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	version, err := a.Put(t.Context(), "kept/x", []byte("1"), store.IfAbsent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), "kept/x", []byte("2"), store.IfAbsent); !errors.Is(err, store.ErrConflict) {
		t.Errorf("second Put: %v, want a conflict", err)
	}
	if _, err := b.Put(t.Context(), "kept/x", []byte("2"), store.IfVersion(version)); err != nil {
		t.Error(err)
	}
	if err := a.DeleteVersion(t.Context(), "kept/x", version); err != nil {
		t.Error(err)
	}
	if data, _, err := a.Get(t.Context(), "kept/x"); err != nil || string(data) != "2" {
		t.Errorf("got %q, %v, want the second value", data, err)
	}
}

// TestRemainsAreRemoved checks that Open removes what a process that died has left, and nothing that
// another process is writing.
func TestRemainsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".new-old": 2 * time.Hour, ".new-young": 0} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir)
	if _, err := os.Stat(filepath.Join(dir, ".new-old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file: %v, want it removed", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".new-young")); err != nil {
		t.Errorf("the young file: %v, want it kept", err)
	}
}

// TestDamagedFile checks that a file that is too short is reported as damaged.
func TestDamagedFile(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir)
	if _, err := b.Put(t.Context(), "x", []byte("1"), store.Always); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "x@"), 3); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Get(t.Context(), "x"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Get: %v, want that it is corrupt", err)
	}
	if err := b.Delete(t.Context(), "x"); err != nil {
		t.Error(err)
	}
}
