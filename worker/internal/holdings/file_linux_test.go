package holdings_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// TestFileHasNoName checks that a spill file has no name at any time. A process that is killed could
// leave a name behind.
func TestFileHasNoName(t *testing.T) {
	dir := t.TempDir()
	switch fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600); {
	case errors.Is(err, unix.EOPNOTSUPP):
		t.Skipf("the file system of %s has no unnamed files", dir)
	case err != nil:
		t.Fatal(err)
	default:
		_ = unix.Close(fd)
	}
	events, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(events)
	if _, err := unix.InotifyAddWatch(events, dir, unix.IN_CREATE|unix.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	f, err := holdings.NewFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("partial"), 3); err != nil {
		t.Error(err)
	}
	if n, err := unix.Read(events, make([]byte, 4096)); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("got %d bytes of events, %v, want no event", n, err)
	}
}
