package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// ErrNoProc is the error on systems without /proc, from which benchmarks read the resource usage of
// processes.
var ErrNoProc = errors.New("this system has no /proc")

// cpuOf returns the processor time that all threads of a process have used.
func cpuOf(pid int) (time.Duration, error) {
	s, err := readProc(pid, procfs.Proc.Stat)
	return time.Duration(s.CPUTime() * float64(time.Second)), err
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (uint64, error) {
	s, err := readProc(pid, procfs.Proc.Stat)
	return uint64(s.ResidentMemory()), err
}

// movedBytes returns the bytes that a process has read and written in system calls. They include
// sockets, which Go reads and writes with the same system calls as files.
func movedBytes(pid int) (uint64, error) {
	moved, err := readProc(pid, procfs.Proc.IO)
	return moved.RChar + moved.WChar, err
}

// readProc reads one of the files of a process.
func readProc[T any](pid int, read func(procfs.Proc) (T, error)) (value T, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return value, fmt.Errorf("%w: %w", ErrNoProc, err)
	}
	p, err := fs.Proc(pid)
	if err == nil {
		value, err = read(p)
	}
	if err != nil {
		return value, fmt.Errorf("read usage of process %d: %w", pid, err)
	}
	return value, nil
}
