package store

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

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
