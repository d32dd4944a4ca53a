package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// list returns the keys that begin with prefix, sorted. Keys that this package does not write are
// logged and omitted, because a foreign object in the cluster's storage must not fail a listing.
func (s *Store) list(ctx context.Context, prefix string) ([]string, error) {
	keys, err := s.blobs.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	var foreign []string
	keys = slices.DeleteFunc(keys, func(key string) bool {
		if ownKey(key) {
			return false
		}
		foreign = append(foreign, key)
		return true
	})
	if n := len(foreign); n > 0 && s.foreign.changes(prefix, n) {
		s.log.Warn("Foreign objects in the cluster's storage ignored", "prefix", prefix, "objects", n, "key", foreign[0])
	}
	return keys, nil
}

// counts contains the number of foreign objects that the last listing of each prefix has found, so
// that listings that are repeated do not repeat the log line.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

// changes reports whether n differs from the last number.
func (c *counts) changes(prefix string, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.of[prefix]
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[prefix] = n
	return n != last
}

// ownKey reports whether a key has the form of the keys that this package writes.
func ownKey(key string) bool {
	kind, rest, _ := strings.Cut(key, "/")
	id, _, _ := strings.Cut(rest, "/")
	switch {
	case !ValidKey(key):
		return false
	case kind+"/" == terms:
		return termForm.MatchString(rest)
	case kind+"/" == poisons:
		return ValidID(rest) || unknownForm.MatchString(rest)
	}
	return ValidID(id)
}

type entry[T any] struct {
	key   string
	value T
}

// readers is the number of records that readKeys reads concurrently.
const readers = 8

// readKeys reads the records with the given keys. readKeys omits records that are deleted before
// they are read. A record that cannot be decoded is logged and omitted, so that the other records
// can still be read.
func readKeys[T any](ctx context.Context, s *Store, keys []string, decode func([]byte) (T, error)) ([]entry[T], error) {
	found := make([]*entry[T], len(keys))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	for i, key := range keys {
		group.Go(func() error {
			data, _, err := s.blobs.Get(ctx, key)
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			value, err := decode(data)
			if err != nil {
				s.log.Warn("Damaged record left out", "key", key, "error", err)
				return nil
			}
			found[i] = &entry[T]{key, value}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	entries := make([]entry[T], 0, len(found))
	for _, e := range found {
		if e != nil {
			entries = append(entries, *e)
		}
	}
	return entries, nil
}
