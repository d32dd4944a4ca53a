package wasm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxCache is the largest number of bytes of machine code that a worker keeps.
const maxCache = 512 << 20

// boundCache removes the oldest files of a cache until the others have at most the given number of
// bytes. A process that needs the code of a removed file compiles its module again.
func boundCache(dir string, most int64) error {
	type entry struct {
		path    string
		size    int64
		written time.Time
	}
	var list []entry
	var sum int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".tmp") { // another process is writing it
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		list = append(list, entry{path, info.Size(), info.ModTime()})
		sum += info.Size()
		return nil
	})
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.path, b.path)) })
	for _, e := range list {
		if err != nil || sum <= most {
			break
		}
		err = ignoreMissing(os.Remove(e.path))
		sum -= e.size
	}
	if err != nil {
		return fmt.Errorf("bound cache: %w", err)
	}
	return nil
}

// ignoreMissing returns nil for the error of a file that another process has removed.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
