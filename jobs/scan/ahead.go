package scan

import (
	"context"
	"sync"
)

// maxAhead is the largest number of pieces that a slot has read in advance.
const maxAhead = 16

// ahead counts the pieces of runs in storage that are read while the groups before them are merged. One goroutine uses it and the
// streams that share it.
type ahead struct {
	pieces  int // number of pieces that are read, or wait for their streams
	reading sync.WaitGroup
}

// loaded is a piece that was read in advance, or the error of the read.
type loaded struct {
	run run
	err error
}

// readAhead begins to read the next piece in advance.
func (s *stream) readAhead(ctx context.Context) {
	if s.ahead == nil || s.ahead.pieces == maxAhead || s.early != nil || len(s.left) == 0 {
		return
	}
	s.ahead.pieces++
	next, early := s.left[0], make(chan loaded, 1)
	s.early = early
	s.ahead.reading.Go(func() {
		r, err := next.load(ctx)
		early <- loaded{r, err}
	})
}

// load returns the next piece. If the piece was read in advance with an error, perhaps because that call of Map was cancelled, load
// reads it again.
func (s *stream) load(ctx context.Context) (r run, err error) {
	var l loaded
	if s.early != nil {
		l = <-s.early
		s.early = nil
		s.ahead.pieces--
	}
	if r = l.run; r == nil || l.err != nil {
		if r, err = s.left[0].load(ctx); err != nil {
			return nil, err
		}
	}
	s.left = s.left[1:]
	return r, nil
}
