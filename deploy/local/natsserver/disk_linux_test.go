package natsserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
)

// smallDisk mounts a disk in memory until the test ends.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	disk := t.TempDir()
	switch err := syscall.Mount("tmpfs", disk, "tmpfs", 0, options); {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
		t.Skipf("mount a small disk: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// TestRestartOnNearlyFullDisk restarts a server whose data takes most of the disk. The server still
// accepts writes, because the stored data does not count against the space for new data.
func TestRestartOnNearlyFullDisk(t *testing.T) {
	disk := smallDisk(t, "size=64m")
	cfg := natsserver.Config{Dir: filepath.Join(disk, "nats")}
	server := natstest.Start(t, cfg)
	bucket := openBucket(t, server)
	for i := range 40 {
		if _, err := bucket.Put(t.Context(), fmt.Sprint("value", i), make([]byte, 1<<20-1<<10)); err != nil {
			t.Fatal(err)
		}
	}
	server.Shutdown()
	if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	bucket = openBucket(t, natstest.Start(t, cfg))
	if _, err := bucket.Put(t.Context(), "after", make([]byte, 64<<10)); err != nil {
		t.Errorf("write after the restart: %v", err)
	}
}

// TestFullDisk fills the disk until writes fail, and then frees space.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, "size=32m")
	var log logtest.Log
	server := natstest.Start(t, natsserver.Config{Dir: filepath.Join(disk, "nats"), Logger: log.Logger()})
	bucket := openBucket(t, server)
	before, err := bucket.PutString(t.Context(), "before", "kept")
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	during, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := bucket.Put(during, "during", make([]byte, 64<<10)); err == nil {
		t.Fatal("a write to a full disk succeeded")
	}
	log.Await(t, 1, "cannot write, waiting for room")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	log.Await(t, 1, "started again")
	if got, err := bucket.Get(t.Context(), "before"); err != nil || got.Revision() != before || string(got.Value()) != "kept" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := bucket.Put(t.Context(), "after", make([]byte, 64<<10)); err != nil {
		t.Errorf("Put: %v", err)
	}
}
