package natsserver

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// defaultLimit returns the storage limit of a server whose limit is not configured: the bytes in
// the data directory and three quarters of the free space. The server's own default counts only
// three quarters of the stored bytes, so a server on a nearly full disk would refuse each write.
func defaultLimit(dir string) (int64, error) {
	free, err := freeSpace(dir)
	if err != nil {
		return 0, fmt.Errorf("measure the free space of %s: %w", dir, err)
	}
	stored, err := sizeOf(dir)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return max(stored+free/4*3, 1), nil // 0 would mean the server's own default
}

// sizeOf returns the total size of the files in a folder and its subfolders.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
