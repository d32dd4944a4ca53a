package holdings

import (
	"os"
	"syscall"
	"unsafe"
)

// useHugePages asks the system to use huge pages for memory that has not been written yet. The
// system may ignore the request.
func useHugePages(data []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) & (page - 1)
	if rest := (len(data) - skip) &^ (page - 1); rest > 0 {
		_ = syscall.Madvise(data[skip:skip+rest], syscall.MADV_HUGEPAGE) // an error means only that the pages stay small
	}
}
