//go:build unix

package local

import (
	"io/fs"
	"strconv"
	"syscall"
)

// number returns the number of a file in its file system, its inode.
func number(info fs.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(uint64(stat.Ino), 36)
	}
	return ""
}
