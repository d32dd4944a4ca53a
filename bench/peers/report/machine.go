package report

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes the processor, the memory and the operating system of this machine, and omits
// values that it cannot read.
func Machine() string {
	parts := []string{
		fmt.Sprintf("%d cores", runtime.NumCPU()),
		cmp.Or(procField("/proc/cpuinfo", "model name"), runtime.GOARCH),
	}
	var kB float64 // unit of 1024 bytes, as in /proc
	if _, err := fmt.Sscanf(procField("/proc/meminfo", "MemTotal"), "%f kB", &kB); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB of memory", kB*1024/1e9))
	}
	system := runtime.GOOS
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(release))
	}
	return strings.Join(append(parts, system), ", ")
}

// procField returns the value of the first line of a file with the given name, or "" if there is none.
func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // errors are ignored, because the file was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
