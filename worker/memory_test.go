package worker

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDefaultMemory(t *testing.T) {
	const meminfo = "MemTotal:       16000000 kB\nMemFree: 1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known": {nil, fallbackMemory},
		"a machine":        {map[string]string{"proc/meminfo": meminfo}, 16_000_000 << 10 / 4 * 3},
		"no limit":         {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n"}, 16_000_000 << 10 / 4 * 3},
		"a container":      {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "4000000000\n"}, 3_000_000_000},
		"a cgroup":         {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4000\n"}, 3000},
		"a parent's limit": {map[string]string{
			"proc/self/cgroup": "0::/a.slice/b.slice/c.service\n", "sys/fs/cgroup/a.slice/b.slice/c.service/memory.max": "max\n",
			"sys/fs/cgroup/a.slice/b.slice/memory.max": "8000\n", "sys/fs/cgroup/a.slice/memory.max": "12000\n",
		}, 6000},
		"a cgroup, version 1": {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "8000\n"}, 6000},
		"version 1, no limit": {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16_000_000 << 10 / 4 * 3},
		"garbage":             {map[string]string{"proc/meminfo": "MemTotal: much", "sys/fs/cgroup/memory.max": "-3"}, fallbackMemory},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := defaultMemory(root); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
