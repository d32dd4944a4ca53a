package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// TermRecord is one change of leader. The durations are those of the steps from
// the predecessor's last sign of life on; 0 where a step is not known or has not
// happened.
type TermRecord struct {
	Epoch  uint64    `cbor:"1,keyasint" json:"epoch"`
	Worker string    `cbor:"2,keyasint" json:"worker"`
	Cause  string    `cbor:"3,keyasint" json:"cause"`
	At     time.Time `cbor:"4,keyasint" json:"at"`

	Detect          time.Duration `cbor:"5,keyasint,omitempty" json:"detect"`           // the predecessor is believed dead
	Elect           time.Duration `cbor:"6,keyasint,omitempty" json:"elect"`            // the lease is held
	Fence           time.Duration `cbor:"7,keyasint,omitempty" json:"fence"`            // every manifest has the epoch
	Resume          time.Duration `cbor:"8,keyasint,omitempty" json:"resume"`           // the jobs are read
	FirstAssignment time.Duration `cbor:"9,keyasint,omitempty" json:"first_assignment"` // a span was given to a worker
	FirstResult     time.Duration `cbor:"10,keyasint,omitempty" json:"first_result"`    // a worker reported a new node
}

// AtOnce is what a record has of a step that took no time.
const AtOnce = time.Microsecond

const (
	keptTerms  = 1000
	pruneEvery = 100 // epochs; so the list has 1,100 entries at most, or few more
)

// PutTerm keeps the record of a term, in place of an earlier one of its epoch.
// The newest thousand are kept, or a few more.
func (s *Store) PutTerm(ctx context.Context, t TermRecord) error {
	key := termKey(t.Epoch)
	if _, err := s.blobs.Put(ctx, key, encodeTerm(t), Always); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if t.Epoch%pruneEvery == 0 && t.Epoch > keptTerms {
		return s.pruneTerms(ctx, termKey(t.Epoch-keptTerms))
	}
	return nil
}

func (s *Store) pruneTerms(ctx context.Context, through string) error {
	keys, err := s.blobs.List(ctx, terms)
	if err != nil {
		return fmt.Errorf("list %s: %w", terms, err)
	}
	for _, key := range keys {
		if key > through {
			return nil
		}
		if err := s.blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete %s: %w", key, err)
		}
	}
	return nil
}

// Terms returns the kept records of terms, oldest first. Records that are damaged
// are logged and left out.
func (s *Store) Terms(ctx context.Context) ([]TermRecord, error) {
	list, err := readAll(ctx, s, terms, decodeTerm)
	if err != nil {
		return nil, err
	}
	records := make([]TermRecord, len(list))
	for i, e := range list {
		records[i] = e.value
	}
	return records, nil
}

// termKey sorts like the epoch.
func termKey(epoch uint64) string { return fmt.Sprintf("%s%016x", terms, epoch) }

type entry[T any] struct {
	key   string
	value T
}

// readers is how many values of a list are read at once.
const readers = 8

// readAll reads what is under a prefix, sorted by key. What vanishes meanwhile is
// left out, and so is what does not decode, with a warning: one damaged record
// must not hide the others.
func readAll[T any](ctx context.Context, s *Store, prefix string, decode func([]byte) (T, error)) ([]entry[T], error) {
	keys, err := s.blobs.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
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
