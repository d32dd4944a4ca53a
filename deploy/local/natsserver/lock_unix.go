//go:build unix

package natsserver

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens and locks a file. The lock lasts until the file is closed or the process
// ends.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrInUse
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}
