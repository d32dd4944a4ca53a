package exec

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	// maxAhead is the largest number of calls that a kept process has not answered.
	maxAhead = 256
	// aheadFor is how long a kept process should need for the calls that it has not answered, so that
	// little work is lost when they are dropped.
	aheadFor = 10 * time.Millisecond
	// drainAhead is how long a stream that is stopped early waits for the answers to the calls that were
	// sent ahead.
	drainAhead = 100 * time.Millisecond
)

// streamer is a mapper that sends calls ahead to kept processes.
type streamer struct{ mapper }

var _ jobs.Streamer[[]byte] = streamer{}

// Stream implements jobs.Streamer.
func (m streamer) Stream(ctx context.Context, span jobs.Span) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := stream{ctx: ctx, keeper: m.runner.kept, frame: m.frame, lo: span.Lo, sent: span.Lo, hi: span.Hi}
		defer s.close()
		for range span.Len() {
			output, err := s.next()
			var partial []byte
			if err == nil {
				partial, err = m.partial(output)
			}
			if !yield(partial, err) || err != nil {
				return
			}
		}
	}
}

// frame appends the call of a partition to a batch.
func (m mapper) frame(ctx context.Context, batch []byte, partition uint64) ([]byte, error) {
	var input []byte
	if m.input != nil {
		err := m.input.Each(ctx, partition, func(data []byte) error {
			input = append(input, data...)
			return nil
		})
		if err != nil {
			return batch, fmt.Errorf("map: read input: %w", err)
		}
	}
	return append(appendHeader(batch, "map", partition, m.partitions, len(input)), input...), nil
}

// stream makes the calls of a span in a kept process, and sends calls ahead. If the process dies, the
// calls that it has not answered are made again one at a time, so that the error names the call
// that has killed the process.
type stream struct {
	ctx    context.Context
	keeper *keeper
	frame  func(ctx context.Context, batch []byte, partition uint64) ([]byte, error)

	one   *kept       // nil: none
	spare func() bool // makes the end of ctx not kill the process any more

	lo, sent, hi uint64        // the calls from lo on are not answered, and those from sent on are not sent
	sizes        [maxAhead]int // bytes of the calls that are not answered, by partition modulo maxAhead
	bytes        int           // sum of these sizes
	alone        uint64        // the calls before this partition are made one at a time
	batch        []byte        // memory for frames
	read         []byte        // the frame of the partition sent, if it has been read; empty if not
	written      <-chan error  // result of the last write

	filled   time.Time // when calls were sent last
	answered int       // how many calls were answered since
}

// next returns the output of the next call.
func (s *stream) next() (output []byte, err error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		output, err = s.answer()
		s.lo++
		if !errors.Is(err, errTemporary) {
			return output, err
		}
		s.close()
		s.lo--
		s.restart(s.lo + 1)
		select {
		case <-s.ctx.Done():
			return nil, fmt.Errorf("%w, and asks to be called again: %w", err, context.Cause(s.ctx))
		case <-time.After(pause):
		}
	}
}

// answer returns the answer to the call of the partition lo.
func (s *stream) answer() ([]byte, error) {
	for {
		status, output, err := s.exchange()
		if err == nil {
			return s.keeper.result("map", status, output)
		}
		if s.one == nil {
			return nil, err // no call was sent
		}
		lost := s.sent - s.lo
		s.spare()
		err = s.one.fail("map", err)
		s.one = nil
		if lost <= 1 || s.ctx.Err() != nil {
			return nil, err
		}
		s.restart(s.sent)
	}
}

// restart makes all calls from lo on again, those before the partition alone one at a time.
func (s *stream) restart(alone uint64) { s.alone, s.sent, s.bytes, s.read = alone, s.lo, 0, nil }

// exchange sends calls, and receives the answer to the call of the partition lo. If exchange returns
// an error and there is a process, the process must be ended.
func (s *stream) exchange() (status string, output []byte, err error) {
	if err := s.fill(); err != nil {
		return "", nil, err
	}
	inTime := s.one.limit()
	status, output, err = s.one.receive()
	if !inTime() && err == nil {
		err = context.DeadlineExceeded // the process has been killed, and knows the reason
	}
	if err != nil {
		return "", nil, err
	}
	s.answered++
	s.bytes -= s.sizes[s.lo%maxAhead]
	if s.sent > s.lo+1 {
		return status, output, nil
	}
	if err := <-s.written; err != nil {
		return "", nil, err
	}
	s.written = nil
	return status, output, s.one.quiet()
}

// fill sends calls, unless the process has enough of them.
func (s *stream) fill() error {
	if s.one == nil {
		one, err := s.keeper.take()
		if err != nil {
			return err
		}
		s.one = one
		s.spare = context.AfterFunc(s.ctx, func() { one.kill(context.Cause(s.ctx)) })
		s.filled, s.answered = time.Now(), 0
	}
	unanswered := s.sent - s.lo
	if unanswered > 0 && unanswered > s.ahead()/2 || s.sent == s.hi {
		return nil
	}
	s.measure()
	s.batch = s.batch[:0]
	for s.sent < s.hi && s.sent-s.lo < s.ahead() {
		if len(s.read) == 0 {
			var err error
			if s.read, err = s.frame(s.ctx, s.read, s.sent); err != nil {
				s.read = nil
				if s.sent > s.lo {
					break // the error is returned when the calls before are answered
				}
				s.release()
				return err
			}
		}
		size := len(s.read)
		if s.sent > s.lo && s.bytes+size > pipeSize {
			break // a write of more than that may block until the process has been read from
		}
		s.batch, s.read = append(s.batch, s.read...), s.read[:0]
		s.sizes[s.sent%maxAhead] = size
		s.bytes += size
		s.sent++
	}
	if len(s.batch) == 0 {
		return nil
	}
	s.written = s.one.send(s.batch)
	if s.bytes > pipeSize {
		s.batch = nil // another goroutine writes it
		return nil
	}
	err := <-s.written
	if err == nil {
		s.written = closed
	}
	return err
}

// closed is the result of a write without an error.
var closed = func() <-chan error {
	c := make(chan error)
	close(c)
	return c
}()

// ahead returns how many calls may be sent that are not answered.
func (s *stream) ahead() uint64 {
	if s.lo < s.alone {
		return 1
	}
	return s.one.ahead
}

// measure adjusts the number of calls that may be sent ahead to the time that a call takes. The number
// begins with 1, and at most doubles.
func (s *stream) measure() {
	now := time.Now()
	if s.answered > 0 {
		each := max(1, now.Sub(s.filled)/time.Duration(s.answered))
		s.one.ahead = min(2*s.one.ahead, maxAhead, max(1, uint64(aheadFor/each)))
	}
	s.filled, s.answered = now, 0
}

// release puts the process back. The process must have answered all calls.
func (s *stream) release() {
	one := s.one
	s.one = nil
	if s.spare() {
		s.keeper.put(one)
	} else {
		_ = one.fail("map", context.Cause(s.ctx))
	}
}

// close drops the answers to the calls that were sent ahead, and releases the process. If the answers take too
// long, close kills the process.
func (s *stream) close() {
	if s.one == nil {
		return
	}
	one := s.one
	if s.lo < s.sent {
		timer := time.AfterFunc(drainAhead, func() { one.kill(errDropped) })
		defer timer.Stop()
	}
	var err error
	for ; s.lo < s.sent && err == nil; s.sent-- {
		_, _, err = one.receive()
	}
	if err == nil && s.written != nil {
		err = <-s.written
	}
	if err != nil {
		s.spare()
		_ = one.fail("map", err)
		s.one = nil
		return
	}
	s.release()
}

var errDropped = errors.New("its answers are not needed")
