package holdings

import (
	"os"
	"syscall"
)

// Flags of sync_file_range(2).
const (
	waitBefore = 1
	startWrite = 2
	waitAfter  = 4
)

// writeBack makes the system begin to move all bytes of a file to the disk that are not there yet,
// and waits for the writeStep bytes from offset on. A negative offset means that there is nothing
// to wait for. Errors do not matter: the bytes can be read from the file in any case.
func writeBack(f *os.File, offset int64) {
	_ = syscall.SyncFileRange(int(f.Fd()), 0, 0, startWrite)
	if offset >= 0 {
		_ = syscall.SyncFileRange(int(f.Fd()), offset, writeStep, waitBefore|startWrite|waitAfter)
	}
}
