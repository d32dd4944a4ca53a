package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

// fallbackMemory is the default of Config.Memory if the amount of memory cannot be read from the
// process's cgroup or from the system.
const fallbackMemory = 1 << 30

// DefaultMemory returns the default of Config.Memory: three quarters of the memory that this
// process may use.
func DefaultMemory() int64 { return max(MinMemory, defaultMemory("/")) }

// defaultMemory returns three quarters of the memory that the process may use, which is the limit
// of its cgroup or of a parent of its cgroup, or the machine's memory. The parameter root is the root of
// the file system; tests replace it.
func defaultMemory(root string) int64 {
	least := int64(math.MaxInt64)
	read := func(path string, parse func(text string) (int64, error)) {
		if data, err := os.ReadFile(filepath.Join(root, path)); err == nil {
			if n, err := parse(strings.TrimSpace(string(data))); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	number := func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) } // the text may be "max", which is not a number
	for group := filepath.Join("/", ownCgroup(root)); ; group = filepath.Dir(group) {
		read(filepath.Join("sys/fs/cgroup", group, "memory.max"), number)
		if group == "/" {
			break
		}
	}
	read("sys/fs/cgroup/memory/memory.limit_in_bytes", number) // limit of the process's cgroup, version 1
	read("proc/meminfo", func(text string) (kib int64, err error) {
		_, err = fmt.Sscanf(text, "MemTotal: %d kB", &kib)
		return kib << 10, err
	})
	if least == math.MaxInt64 {
		return fallbackMemory
	}
	return least / 4 * 3
}

// ownCgroup returns the path of the process's cgroup (version 2), or "" if there is none.
func ownCgroup(root string) string {
	data, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // systems without cgroups do not have this file
	for line := range bytes.Lines(data) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "0::"); ok {
			return path
		}
	}
	return ""
}

// spillDir returns the spill folder: dir, or the folder for temporary files if dir is empty. It
// returns "" if it cannot write files in the folder for temporary files; partials are then not
// moved to files. If the files of the spill folder are in memory, spillDir logs a warning.
func spillDir(dir string, log *slog.Logger) string {
	if dir == "" {
		dir = os.TempDir()
		f, err := holdings.NewFile(dir)
		if err != nil {
			log.Warn("Large partials are not spilled to disk, since the folder for temporary files cannot be written", "error", err)
			return ""
		}
		_ = f.Close() // nothing was written to the file
	}
	if inMemory(dir) {
		log.Warn("Spilling large partials frees no memory, since the spill folder is in memory (tmpfs): set --spill-dir to a folder on a disk", "dir", dir)
	}
	return dir
}
