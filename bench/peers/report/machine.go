package report

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/prometheus/procfs"
)

// Machine describes the processor, the memory and the operating system of this machine, and omits
// values that it cannot read.
func Machine() string {
	processor, memory, system := runtime.GOARCH, "", runtime.GOOS
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
			processor = cmp.Or(cpus[0].ModelName, processor)
		}
		if m, err := fs.Meminfo(); err == nil && m.MemTotalBytes != nil {
			memory = fmt.Sprintf(", %.0f GB of memory", float64(*m.MemTotalBytes)/1e9)
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(release))
	}
	return fmt.Sprintf("%d cores, %s%s, %s", runtime.NumCPU(), processor, memory, system)
}
