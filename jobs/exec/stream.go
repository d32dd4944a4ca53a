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
	// maxAhead is the largest number of unanswered calls of a kept process.
	maxAhead = 256
	// aheadFor is the time that a kept process should need for its unanswered calls. A short time
	// loses little work when the calls are dropped.
	aheadFor = 10 * time.Millisecond
	// drainAhead is the maximum time for which a stopped stream waits for the answers to unanswered
	// calls.
	drainAhead = 100 * time.Millisecond
)

// streamer is a mapper that sends calls to kept processes before earlier calls are answered.
type streamer struct{ mapper }

var _ jobs.Streamer[[]byte] = streamer{}

// Stream yields the outputs of the calls for the partitions of a span.
func (m streamer) Stream(ctx context.Context, span jobs.Span) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		s := stream{ctx: ctx, keeper: m.runner.kept, frame: m.frame, lo: span.Lo, sent: span.Lo, hi: span.Hi}
		defer s.close()
		for range span.Len() {
			output, err := s.next()
			var partial []byte
			if err == nil {
				partial, err = m.partial(output, files{})
			}
			if !yield(partial, err) || err != nil {
				return
			}
		}
	}
}

// frame returns the frame of a partition's call. It may use the memory of batch, which is empty.
func (m mapper) frame(ctx context.Context, batch []byte, number, partition uint64) ([]byte, error) {
	numbers := [2]uint64{partition, m.partitions}
	var prefix []byte
	if m.describe {
		prefix = m.description(partition)
	}
	var c call
	if m.input.add(partition, &c); c.each == nil {
		return append(appendHeader(batch, number, "map", numbers, len(prefix)), prefix...), nil
	}
	frame := make([]byte, maxHeader, maxHeader+len(prefix)+int(min(m.input.size(partition), maxGuess))+lineGuess)
	frame = append(frame, prefix...)
	err := c.each(ctx, func(data []byte) error {
		frame = append(frame, data...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("map: read input: %w", err)
	}
	header := appendHeader(nil, number, "map", numbers, len(frame)-maxHeader)
	frame = frame[maxHeader-len(header):]
	copy(frame, header)
	return frame, nil
}

const (
	maxHeader = 100      // maximum number of bytes of the line of a call
	maxGuess  = 64 << 20 // largest memory for a frame before its size is known, because compressed input grows
	lineGuess = 4 << 10  // memory for the end of the last line
)

// stream makes the calls of a span in a kept process, and sends calls before earlier calls are
// answered. If the process dies, the unanswered calls are retried one at a time, so that the error
// names the call that has killed the process.
type stream struct {
	ctx    context.Context
	keeper *keeper
	frame  func(ctx context.Context, batch []byte, number, partition uint64) ([]byte, error)

	one   *kept       // process of the stream; nil if the stream has no process
	spare func() bool // prevents the end of ctx from killing the process

	lo, sent, hi uint64        // calls from lo on are unanswered, and calls from sent on are not yet sent
	sizes        [maxAhead]int // sizes of the unanswered calls in bytes, by partition modulo maxAhead
	bytes        int           // sum of the sizes of the unanswered calls in bytes
	alone        uint64        // first partition after those whose calls are made one at a time
	batch        []byte        // memory for frames
	read         []byte        // frame of the partition sent; empty if the frame was not yet read
	written      <-chan error  // result of the last write

	filled   time.Time // time at which calls were last sent
	answered int       // number of calls that were answered since then
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
			return nil, err // the error occurred before the call was sent
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

// restart retries all calls from lo on. Calls before the partition alone are made one at a time.
func (s *stream) restart(alone uint64) { s.alone, s.sent, s.bytes, s.read = alone, s.lo, 0, nil }

// exchange sends calls, and receives the answer to the call of the partition lo. If exchange
// returns an error, the caller must end the process of the stream.
func (s *stream) exchange() (status string, output []byte, err error) {
	if err := s.fill(); err != nil {
		return "", nil, err
	}
	inTime := s.one.limit()
	status, output, err = s.one.receive()
	last := s.sent == s.lo+1
	if err == nil && last {
		err = s.one.awaitRead(s.written)
		s.written = nil
	}
	if !inTime() && err == nil {
		err = context.DeadlineExceeded // the method why returns the reason, because the process was killed
	}
	if err != nil {
		return "", nil, err
	}
	s.answered++
	s.bytes -= s.sizes[s.lo%maxAhead]
	if last {
		err = s.one.quiet()
	}
	return status, output, err
}

// fill sends calls, unless the process has enough unanswered calls.
func (s *stream) fill() error {
	if s.one == nil {
		one, err := s.keeper.take()
		if err != nil {
			return fmt.Errorf("map: %w", err)
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
			if s.read, err = s.frame(s.ctx, s.read, s.one.sent+1, s.sent); err != nil {
				s.read = nil
				if s.sent > s.lo {
					break // the error is returned after earlier calls were answered
				}
				s.release()
				return err
			}
		}
		size := len(s.read)
		if s.sent > s.lo && s.bytes+size > pipeSize {
			break // a larger write may block until the answers of the process are read
		}
		if len(s.batch) == 0 && size > pipeSize {
			s.batch, s.read = s.read, nil
		} else {
			s.batch, s.read = append(s.batch, s.read...), s.read[:0]
		}
		s.sizes[s.sent%maxAhead] = size
		s.bytes += size
		s.sent++
		s.one.sent++
	}
	if len(s.batch) == 0 {
		return nil
	}
	s.written = s.one.send(s.batch)
	if s.bytes > pipeSize {
		s.batch = nil // another goroutine writes the batch
		return nil
	}
	err := <-s.written
	if err == nil {
		s.written = closed
	}
	return err
}

// closed is a closed channel, the result of a write without an error.
var closed = func() <-chan error {
	c := make(chan error)
	close(c)
	return c
}()

// ahead returns the largest number of calls that may be unanswered.
func (s *stream) ahead() uint64 {
	if s.lo < s.alone {
		return 1
	}
	return s.one.ahead
}

// measure adjusts the largest number of unanswered calls to the duration of a call. The largest
// number of unanswered calls begins with 1, and at most doubles at each adjustment.
func (s *stream) measure() {
	now := time.Now()
	if s.answered > 0 {
		each := max(1, now.Sub(s.filled)/time.Duration(s.answered))
		s.one.ahead = min(2*s.one.ahead, maxAhead, max(1, uint64(aheadFor/each)))
	}
	s.filled, s.answered = now, 0
}

// release makes the process available for other streams. The process must have answered all calls.
func (s *stream) release() {
	one := s.one
	s.one = nil
	if s.spare() {
		s.keeper.put(one)
	} else {
		_ = one.fail("map", context.Cause(s.ctx))
	}
}

// close drops the answers to unanswered calls, and releases the process. If the answers take too
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
