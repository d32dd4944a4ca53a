package natsserver

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens a file that no other process can open until the file is closed or this
// process ends.
func lockFile(name string) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	const notShared = 0
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, notShared, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err == nil {
		return os.NewFile(uintptr(h), name), nil
	}
	const sharingViolation = syscall.Errno(32)
	if errors.Is(err, sharingViolation) {
		return nil, ErrInUse
	}
	return nil, &os.PathError{Op: "lock", Path: name, Err: err}
}
