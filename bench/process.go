package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ErrNoProc is the error on systems without /proc, from which benchmarks read the resource usage of
// processes.
var ErrNoProc = errors.New("this system has no /proc")

// ticksPerSecond is the unit of times in /proc/PID/stat on all processors that Go supports
// (USER_HZ, see proc(5)).
const ticksPerSecond = 100

// cpuOf returns the processor time that all threads of a process have used.
func cpuOf(pid int) (time.Duration, error) {
	data, err := readProc(pid, "stat")
	if err != nil {
		return 0, err
	}
	// The fields begin after the name of the program, which is in parentheses and may contain
	// spaces.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // the first element of fields is field 3 in proc(5)
	if len(fields) <= system {
		return 0, fmt.Errorf("read the times of process %d: %d fields are too few", pid, len(fields))
	}
	ticks := 0
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0, fmt.Errorf("read the times of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// residentBytes returns the resident memory of a process.
func residentBytes(pid int) (uint64, error) {
	data, err := readProc(pid, "statm")
	if err != nil {
		return 0, err
	}
	var size, resident uint64 // numbers of memory pages
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return resident * uint64(os.Getpagesize()), nil
}

func readProc(pid int, file string) ([]byte, error) {
	if runtime.GOOS != "linux" {
		return nil, ErrNoProc
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil, fmt.Errorf("read usage of process %d: %w", pid, err)
	}
	return data, nil
}
