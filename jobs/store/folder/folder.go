package folder

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Blobs keeps values in a folder.
type Blobs struct{ dir string }

var _ store.Blobs = (*Blobs)(nil)

const (
	lockName   = ".lock"
	newPrefix  = ".new-"
	leftBehind = time.Hour // age of a temporary file whose process has died
	mark       = "@"       // end of the names of files with values; no key contains it, so no file has the name of a folder

	// A segment of a key that is longer than a file's name may be takes several nested folders. The name
	// of each but the last ends in a plus, which no key contains.
	longest   = 200
	continued = "+"
)

// Open returns the values in a folder, and makes the folder if it is missing.
func Open(dir string) (*Blobs, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return nil, translate(err)
	}
	b := &Blobs{dir}
	unlock, err := b.lock(context.Background())
	if err != nil {
		return nil, err
	}
	unlock()
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), newPrefix) && time.Since(info.ModTime()) > leftBehind {
			_ = os.Remove(filepath.Join(dir, e.Name())) // the next Open removes it otherwise
		}
	}
	return b, translate(err)
}

// versionSize is the size in bytes of the version at the beginning of a file.
const versionSize = 16

// Get implements store.Blobs.
func (b *Blobs) Get(ctx context.Context, key string) ([]byte, store.Version, error) {
	name, err := b.name(ctx, key)
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, "", translate(err)
	}
	if len(data) < versionSize {
		return nil, "", fmt.Errorf("file %s: %w", name, store.ErrCorrupt)
	}
	return data[versionSize:], store.Version(data[:versionSize]), nil
}

// Put implements store.Blobs.
func (b *Blobs) Put(ctx context.Context, key string, value []byte, cond store.Condition) (store.Version, error) {
	name, err := b.name(ctx, key)
	if err != nil {
		return "", err
	}
	version := []byte(rand.Text()[:versionSize])
	temporary, err := b.write(version, value)
	if err != nil {
		return "", translate(err)
	}
	defer os.Remove(temporary) // fails if the file was renamed
	unlock, err := b.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := b.check(name, cond); err != nil {
		return "", err
	}
	folder := filepath.Dir(name)
	err = os.MkdirAll(folder, 0o777)
	if err == nil {
		err = os.Rename(temporary, name)
	}
	for err == nil { // MkdirAll may have made each of the folders
		if err = sync(folder); folder == b.dir {
			break
		}
		folder = filepath.Dir(folder)
	}
	return store.Version(version), translate(err)
}

// write writes a value to a temporary file and returns the file's name.
func (b *Blobs) write(version, value []byte) (name string, err error) {
	f, err := os.CreateTemp(b.dir, newPrefix)
	if err != nil {
		return "", err
	}
	_, err = f.Write(version)
	if err == nil {
		_, err = f.Write(value)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// check returns store.ErrConflict if the condition of a write does not hold. The caller must hold the lock.
func (b *Blobs) check(name string, cond store.Condition) error {
	want, compares := cond.Version()
	if !compares && !cond.Absent() {
		return nil
	}
	have, err := versionOf(name)
	switch {
	case errors.Is(err, store.ErrNotFound) && cond.Absent(), err == nil && compares && have == want:
		return nil
	case err == nil || errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("file %s: %w", name, store.ErrConflict)
	}
	return err
}

// versionOf returns the version of the value in a file.
func versionOf(name string) (store.Version, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", translate(err)
	}
	defer f.Close()
	version := make([]byte, versionSize)
	if _, err := f.ReadAt(version, 0); err != nil {
		return "", fmt.Errorf("read version of file %s: %w: %w", name, store.ErrCorrupt, err)
	}
	return store.Version(version), nil
}

// Delete implements store.Blobs.
func (b *Blobs) Delete(ctx context.Context, key string) error { return b.remove(ctx, key, nil) }

// DeleteVersion implements store.Blobs.
func (b *Blobs) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	return b.remove(ctx, key, &v)
}

// remove removes a value, if it has the version only or if only is nil.
func (b *Blobs) remove(ctx context.Context, key string, only *store.Version) error {
	name, err := b.name(ctx, key)
	if err != nil {
		return err
	}
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if only != nil {
		if have, err := versionOf(name); err != nil || have != *only {
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			return err
		}
	}
	err = os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return translate(errors.Join(err, sync(filepath.Dir(name))))
}

// List implements store.Blobs.
func (b *Blobs) List(ctx context.Context, prefix string) (keys []string, err error) {
	key, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return nil, fmt.Errorf("prefix %q does not end in a slash", prefix)
	}
	name, err := b.name(ctx, key)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(strings.TrimSuffix(name, mark), func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			return ctx.Err()
		}
		inside, err := filepath.Rel(b.dir, name)
		if key, ok := strings.CutSuffix(filepath.ToSlash(inside), mark); ok && err == nil {
			if key = strings.ReplaceAll(key, continued+"/", ""); store.ValidKey(key) {
				keys = append(keys, key)
			}
		}
		return err
	})
	slices.Sort(keys)
	return keys, translate(err)
}

// name returns the name of the file with the value of a key.
func (b *Blobs) name(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !store.ValidKey(key) {
		return "", fmt.Errorf("key %q is not valid", key)
	}
	name := b.dir
	for segment := range strings.SplitSeq(key, "/") {
		for ; len(segment) > longest; segment = segment[longest:] {
			name = filepath.Join(name, segment[:longest]+continued)
		}
		name = filepath.Join(name, segment)
	}
	return name + mark, nil
}

// sync makes the names in a folder durable.
func sync(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// translate converts errors of package os into errors of package store.
func translate(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}
