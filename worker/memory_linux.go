package worker

import "syscall"

// inMemory reports whether the files of a folder are in memory. It returns false if it cannot find
// out.
func inMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6 // see statfs(2)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return false
	}
	kind := uint32(fs.Type) // the type of fs.Type depends on the architecture
	return kind == tmpfs || kind == ramfs
}
