package term

import (
	"errors"
	"fmt"
)

// fencedError means that a later leader has written the manifest.
type fencedError struct{ epoch uint64 }

func (e *fencedError) Error() string {
	return fmt.Sprintf("manifest belongs to another leader: epoch %d", e.epoch)
}

// fail handles an error that keeps the leader from making state durable. The term is over if a
// later leader has fenced this leader. After any other error a retry cannot help, so the term fails
// (see [Term.Err]) and another process can lead. Only the first error counts.
func (t *Term) fail(err error) {
	var fenced *fencedError
	switch {
	case t.ctx.Err() != nil:
	case errors.As(err, &fenced):
		t.leadership.Deposed(fenced.epoch)
	default:
		if t.failure == nil {
			t.failure = err
		}
		t.Stop()
	}
}

// Err returns the error because of which a term has failed, or nil. A term that fails ends as if it
// had been told to stop, but names no successor: storage would probably refuse the successor's calls
// too. The process releases the lease, and processes wait longer with each term that fails.
func (t *Term) Err() error { return t.failure }
