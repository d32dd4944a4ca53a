package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Watch returns the states of a job, the latest one each time, until it has ended; the
// last state is final. The intervals grow with the age of the job, so the end of a
// short job is noticed at once and a long job costs little. A missing leader is not an
// error: Epoch in the status is then 0. The sequence ends with an error if ctx is done
// or if storage does not answer for longer than Config.Timeout.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		began := time.Now()
		answered := began
		for {
			s, err := c.Status(ctx, id)
			switch {
			case err == nil:
				answered = time.Now()
				if !yield(s, nil) || s.State.Final() {
					return
				}
			case ctx.Err() != nil, !c.isPassing(err) || time.Since(answered) > c.cfg.Timeout:
				yield(Status{}, err)
				return
			}
			if err := sleep(ctx, pause(began, watchInterval)); err != nil {
				yield(Status{}, err)
				return
			}
		}
	}
}

const (
	watchInterval = 20 * time.Millisecond // between two reads, right after Watch began
	waitInterval  = 5 * time.Millisecond  // between two questions to the leader, right after Wait began
	maxInterval   = 250 * time.Millisecond
)

// pause returns the time until the next read of a job that has been watched since
// began: a tenth of the time so far, so that the end of the job is noticed with a
// delay of at most a tenth of its duration.
func pause(began time.Time, least time.Duration) time.Duration {
	return min(max(time.Since(began)/10, least), maxInterval)
}

// isPassing reports whether an error is temporary, so that a retry may succeed.
func (c *Client) isPassing(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDenied) || errors.Is(err, context.DeadlineExceeded) || !c.nc.IsConnected()
}

// Wait waits until a job has ended and returns its final status. It costs less than
// Watch: all calls of Wait together ask the leader one question at a time, and read
// storage only when the leader no longer lists the job. It fails like Watch.
func (c *Client) Wait(ctx context.Context, id string) (Status, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Status{}, err
	}
	began := time.Now()
	answered := began
	looked := began.Add(firstLook - maxInterval) // when storage was last read
	for listed := false; ; {
		if err := sleep(ctx, pause(began, waitInterval)); err != nil {
			return Status{}, err
		}
		if c.active.has(ctx, c, id) {
			listed = true
			continue
		}
		// A leader that has not listed the job may not have it yet; or the job began and
		// ended between two questions, so storage is asked from time to time as well.
		if !listed && time.Since(looked) < maxInterval {
			continue
		}
		listed, looked = false, time.Now()
		r, err := c.record(ctx, s, id)
		switch {
		case err == nil && r.manifest.State.Final():
			return newStatus(r, nil), nil
		case err == nil:
			answered = time.Now()
		case ctx.Err() != nil, !c.isPassing(err) || time.Since(answered) > c.cfg.Timeout:
			return Status{}, err
		}
	}
}

// firstLook is when Wait first reads storage if the leader does not list the job.
const firstLook = 50 * time.Millisecond

// activeJobs is the leader's latest list of its active jobs, shared by all calls of
// Wait.
type activeJobs struct {
	turn chan struct{} // holds a token while a goroutine uses what follows
	at   time.Time     // of the latest answer
	list *wire.Jobs    // nil: nobody answered
}

func newActiveJobs() activeJobs { return activeJobs{turn: make(chan struct{}, 1)} }

// has reports whether the leader lists the job, as of at most waitInterval ago.
func (a *activeJobs) has(ctx context.Context, c *Client, id string) bool {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-a.turn }()
	if time.Since(a.at) >= waitInterval {
		var err error
		if a.list, err = c.live(ctx, ""); err != nil {
			a.list = nil
		}
		a.at = time.Now()
	}
	return a.list != nil && slices.ContainsFunc(a.list.Jobs, func(p Progress) bool { return p.Job == id })
}
