//go:build unix

package natsserver

import "golang.org/x/sys/unix"

// freeSpace returns the number of bytes that this user can still write to the disk of a folder.
func freeSpace(dir string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return 0, err
	}
	return int64(uint64(disk.Bavail) * uint64(disk.Bsize)), nil
}
