//go:build unix

package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	lockWithin = 10 * time.Second // a process holds the lock for some milliseconds
	lockPause  = time.Millisecond
)

// lock waits for the lock of the folder and returns a function that releases it. The system releases the
// lock of a process that dies.
func (b *Blobs) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(b.dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, translate(err)
	}
	for began := time.Now(); ; time.Sleep(lockPause) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // closing the file releases the lock
		case err != syscall.EWOULDBLOCK && err != syscall.EINTR:
			err = fmt.Errorf("lock folder %s: %w", b.dir, err)
		case ctx.Err() != nil:
			err = ctx.Err()
		case time.Since(began) > lockWithin:
			err = fmt.Errorf("lock folder %s: %w: another process has held the lock for %v", b.dir, store.ErrUnavailable, lockWithin)
		default:
			continue
		}
		_ = f.Close()
		return nil, err
	}
}
