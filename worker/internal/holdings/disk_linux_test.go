package holdings_test

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// smallDisk mounts a file system that has room for size bytes, and returns its folder.
func smallDisk(t *testing.T, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	switch err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
		t.Skipf("mount a small disk: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// diskUse returns the number of bytes that files use in a file system.
func diskUse(t *testing.T, dir string) uint64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return (s.Blocks - s.Bfree) * uint64(s.Bsize)
}

// TestSpillFillsDisk moves a small partial to a file, and then a partial of another job that is
// larger than the remaining space. The large partial stays in memory, and its incomplete file is
// deleted.
func TestSpillFillsDisk(t *testing.T) {
	const small, large = 1 << 20, 24 << 20 // a file is written in steps of 16 MiB
	dir := smallDisk(t, "20m")
	h, log := start(t, holdings.Config{Limit: large, Dir: dir})
	t.Cleanup(h.Close) // the disk can be unmounted only after the files are closed
	other := data(7, small)
	h.Put("other", engine.Leaf(3), other, wire.Checksum(other), false)
	full := data(9, large)
	put(h, engine.Leaf(5), full, false)
	log.Await(t, 1, "Cannot write a partial to the spill folder")

	text := log.String()
	for _, want := range []string{"job=j node=0/5 bytes=25165824", "no space left on device"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log is %q, want %q in it", text, want)
		}
	}
	if n := log.Count("level=ERROR"); n != 1 {
		t.Errorf("the log has %d errors, want 1: %s", n, text)
	}
	if used := diskUse(t, dir); used != small {
		t.Errorf("files use %d bytes, want the %d bytes of the small partial", used, small)
	}
	if size, inFile := h.Size("other", engine.Leaf(3)); size != small || !inFile {
		t.Errorf("the small partial has %d bytes, in a file: %v, want %d in a file", size, inFile, small)
	}
	for _, want := range []struct {
		job  string
		node engine.Node
		data []byte
		file bool
	}{{"other", engine.Leaf(3), other, true}, {"j", engine.Leaf(5), full, false}} {
		got, own, done, err := h.Read(want.job, want.node)
		if err != nil || !bytes.Equal(got, want.data) || own != want.file {
			t.Fatalf("read node %v of job %s: %d bytes, from a file: %v, error %v; want %d bytes, from a file: %v",
				want.node, want.job, len(got), own, err, len(want.data), want.file)
		}
		done()
	}
	if !h.Stuck() {
		t.Error("the caller is not told to write partials to storage")
	}
	h.DropJob("j")
	if h.Short() || !h.Has("other", engine.Leaf(3)) {
		t.Errorf("after the end of the job, memory is short: %v, the other job's partial is held: %v, want false and true", h.Short(), h.Has("other", engine.Leaf(3)))
	}
}
