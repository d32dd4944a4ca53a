package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Blobs keeps values in memory.
type Blobs struct {
	injector
	mu     sync.Mutex
	writes uint64
	values map[string]value
}

type value struct {
	data    []byte
	version store.Version
}

var _ store.Blobs = (*Blobs)(nil)

// NewBlobs returns an empty Blobs.
func NewBlobs() *Blobs { return &Blobs{values: map[string]value{}} }

// Get implements store.Blobs.
func (b *Blobs) Get(ctx context.Context, key string) (data []byte, version store.Version, err error) {
	err = b.call(ctx, Get, key, func() error {
		v, ok := b.values[key]
		if !ok {
			return store.ErrNotFound
		}
		data, version = bytes.Clone(v.data), v.version
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return data, version, nil
}

// Put implements store.Blobs.
func (b *Blobs) Put(ctx context.Context, key string, data []byte, cond store.Condition) (version store.Version, err error) {
	err = b.call(ctx, Put, key, func() error {
		old, exists := b.values[key]
		if want, ok := cond.Version(); ok && (!exists || old.version != want) {
			return store.ErrConflict
		}
		if cond.Absent() && exists {
			return store.ErrConflict
		}
		b.writes++
		version = store.Version(strconv.FormatUint(b.writes, 10))
		b.values[key] = value{append([]byte{}, data...), version}
		return nil
	})
	if err != nil {
		return "", err
	}
	return version, nil
}

// Delete implements store.Blobs.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	return b.call(ctx, Delete, key, func() error {
		delete(b.values, key)
		return nil
	})
}

// DeleteVersion implements store.Blobs.
func (b *Blobs) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	return b.call(ctx, Delete, key, func() error {
		if b.values[key].version == v {
			delete(b.values, key)
		}
		return nil
	})
}

// List implements store.Blobs.
func (b *Blobs) List(ctx context.Context, prefix string) (keys []string, err error) {
	dir, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return nil, fmt.Errorf("prefix %q does not end in a slash", prefix)
	}
	err = b.call(ctx, List, dir, func() error {
		for key := range b.values {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	return keys, nil
}

func (b *Blobs) call(ctx context.Context, operation Operation, key string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !store.ValidKey(key) {
		return fmt.Errorf("key %q is not valid", key)
	}
	return b.around(operation, key, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		return do()
	})
}
