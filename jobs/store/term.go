package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"
)

// TermRecord describes how one leader took over. Each duration is the length of one step of the
// takeover. The first step begins with the predecessor's last sign of life, and each further step
// begins when the previous step ends. Detect is 0 if the length of the first step is not known.
// Resume is 0 until the leader has read the jobs. FirstAssignment and FirstResult are nil until
// their step is over. FirstAssignment and FirstResult are pointers because a step may take no time.
type TermRecord struct {
	Epoch  uint64    `cbor:"1,keyasint"`
	Worker string    `cbor:"2,keyasint"`
	Cause  string    `cbor:"3,keyasint"`
	At     time.Time `cbor:"4,keyasint"` // time at which the lease was acquired

	Detect          time.Duration  `cbor:"5,keyasint,omitempty"`  // time until the predecessor was considered dead
	Elect           time.Duration  `cbor:"6,keyasint,omitempty"`  // time until the leader had the lease
	Fence           time.Duration  `cbor:"7,keyasint,omitempty"`  // time until every manifest contained the epoch
	Resume          time.Duration  `cbor:"8,keyasint,omitempty"`  // time until the leader had read the jobs
	FirstAssignment *time.Duration `cbor:"9,keyasint,omitempty"`  // time until a span was assigned to a worker, since there was a job
	FirstResult     *time.Duration `cbor:"10,keyasint,omitempty"` // time until a worker reported a new node
}

// Phases returns the lengths of the steps from Detect to FirstResult, or nil for those that are not known.
func (t TermRecord) Phases() []*time.Duration {
	all := []*time.Duration{&t.Detect, &t.Elect, &t.Fence, &t.Resume, t.FirstAssignment, t.FirstResult}
	for i, d := range all[:4] {
		if *d == 0 {
			all[i] = nil
		}
	}
	return all
}

// MarshalJSON encodes the record for the command line and the page, with durations in milliseconds.
func (t TermRecord) MarshalJSON() ([]byte, error) {
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	optional := func(d *time.Duration) *float64 {
		if d == nil {
			return nil
		}
		return new(millis(*d))
	}
	return json.Marshal(struct {
		Epoch           uint64    `json:"epoch"`
		Worker          string    `json:"worker"`
		Cause           string    `json:"cause"`
		At              time.Time `json:"at"`
		Detect          float64   `json:"detect_ms"`
		Elect           float64   `json:"elect_ms"`
		Fence           float64   `json:"fence_ms"`
		Resume          float64   `json:"resume_ms"`
		FirstAssignment *float64  `json:"first_assignment_ms"`
		FirstResult     *float64  `json:"first_result_ms"`
	}{
		t.Epoch, t.Worker, t.Cause, t.At,
		millis(t.Detect), millis(t.Elect), millis(t.Fence), millis(t.Resume),
		optional(t.FirstAssignment), optional(t.FirstResult),
	})
}

// Equal reports whether two records have the same values.
func (t TermRecord) Equal(o TermRecord) bool {
	same := func(a, b *time.Duration) bool { return a == b || a != nil && b != nil && *a == *b }
	if !same(t.FirstAssignment, o.FirstAssignment) || !same(t.FirstResult, o.FirstResult) {
		return false
	}
	t.FirstAssignment, t.FirstResult = o.FirstAssignment, o.FirstResult
	return t == o
}

const (
	keptTerms  = 1000
	pruneEvery = 100 // old records are deleted once per this number of epochs, so the list has at most about 1,100 entries
)

// PutTerm writes the record of a term and replaces an earlier record of the same epoch. About 1,000
// of the newest records are kept.
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
	keys, err := s.list(ctx, terms)
	if err != nil {
		return err
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

// Terms returns all term records in storage, oldest first. Damaged records are logged and omitted.
func (s *Store) Terms(ctx context.Context) ([]TermRecord, error) {
	records, _, err := s.LatestTerms(ctx, 0, math.MaxInt)
	slices.Reverse(records)
	return records, err
}

// termKey returns a key that sorts by epoch.
func termKey(epoch uint64) string { return fmt.Sprintf("%s%016x", terms, epoch) }

// termForm is the form of what follows terms in a key.
var termForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// LatestTerms returns up to limit records of the terms before an epoch, newest first, and reports
// whether there may be earlier records. If the epoch is 0, LatestTerms begins with the newest term.
func (s *Store) LatestTerms(ctx context.Context, before uint64, limit int) (records []TermRecord, more bool, err error) {
	keys, err := s.list(ctx, terms)
	if err != nil {
		return nil, false, err
	}
	if before > 0 {
		i, _ := slices.BinarySearch(keys, termKey(before))
		keys = keys[:i]
	}
	if more = len(keys) > limit; more {
		keys = keys[len(keys)-limit:]
	}
	list, err := readKeys(ctx, s, keys, decodeTerm)
	for _, e := range slices.Backward(list) {
		records = append(records, e.value)
	}
	return records, more, err
}
