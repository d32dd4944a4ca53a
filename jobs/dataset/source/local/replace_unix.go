//go:build unix

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

var _ source.Replacer = Driver{}

// Replace implements source.Replacer. Of several processes on one machine, or with one file system that has locks, only one
// replaces the same version of a file: it locks the file, and the others then find another file under its name. The system
// releases the lock of a process that dies.
func (d Driver) Replace(_ context.Context, o source.Object, content []byte) (source.Object, error) {
	replaced, err := d.replace(o, content)
	return replaced, translate(err)
}

func (d Driver) replace(o source.Object, content []byte) (replaced source.Object, err error) {
	if err := d.allow(o.Name, o.Name); err != nil {
		return replaced, err
	}
	f, err := os.OpenFile(o.Name, os.O_RDWR, 0) // NFS locks only files that are open for writing
	if err != nil {
		return replaced, err
	}
	defer f.Close() // releases the lock
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err == nil {
			break
		}
		if err != syscall.EINTR {
			return replaced, fmt.Errorf("lock %s: %w", o.Name, err)
		}
	}
	locked, err := f.Stat()
	if err != nil {
		return replaced, err
	}
	info, err := os.Stat(o.Name)
	switch {
	case err != nil:
		return replaced, err
	case !os.SameFile(locked, info) || object(o.Name, info) != o:
		return replaced, fmt.Errorf("%s: %w", o.Name, source.ErrChanged)
	}
	return write(o.Name, content, func(temporary string) error {
		if err := os.Rename(temporary, o.Name); err != nil {
			return errors.Join(err, os.Remove(temporary))
		}
		return nil
	})
}
