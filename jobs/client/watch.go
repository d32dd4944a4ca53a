package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Watch returns a sequence of statuses of a job. The sequence ends when the job has ended; the last
// status is final. The leader announces the job's end, so the end is noticed quickly. The intervals
// between statuses grow with the duration of the watch, so watching a long job takes few requests,
// and the end of a short job is noticed quickly even if the announcement is lost. Without a leader
// the sequence continues with statuses whose Epoch is 0. The sequence ends with an error if ctx is
// done. The sequence also ends with an error if, for longer than Config.Timeout, storage does not
// answer or the only leaders that answer use another storage.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		ended, stop := c.ended(id)
		defer stop()
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
			if _, err := await(ctx, ended, pause(began, watchInterval)); err != nil {
				yield(Status{}, err)
				return
			}
		}
	}
}

const (
	watchInterval = 20 * time.Millisecond // interval between the first two reads of Watch; later intervals are longer
	waitInterval  = 5 * time.Millisecond  // interval between the first two requests of Wait to the leader; later intervals are longer
	maxInterval   = 250 * time.Millisecond
)

// pause returns the time until the next read of a watched job. The pause is a tenth of the time since the watch
// began, so the delay until the job's end is noticed is at most a tenth of the job's duration.
func pause(began time.Time, least time.Duration) time.Duration {
	return min(max(time.Since(began)/10, least), maxInterval)
}

// isPassing reports whether an error is temporary, so that a retry may succeed.
func (c *Client) isPassing(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDenied) || errors.Is(err, ErrOtherStorage) || errors.Is(err, context.DeadlineExceeded) || !c.nc.IsConnected()
}

// Wait waits until a job has ended and returns the job's final status. Wait costs less than Watch:
// all concurrent calls of Wait share their requests to the leader, and a call reads storage only
// when the leader has announced the job's end or no longer lists the job. Wait fails like
// [Client.Watch].
func (c *Client) Wait(ctx context.Context, id string) (Status, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Status{}, err
	}
	ended, stop := c.ended(id)
	defer stop()
	began := time.Now()
	answered := began
	matched := began                             // last time at which a leader on the client's storage answered, or no leader answered
	looked := began.Add(firstLook - maxInterval) // last time at which storage was read
	var other error                              // ErrOtherStorage if the last request to the leader returned it, otherwise nil
	for listed := false; ; {
		announced, err := await(ctx, ended, pause(began, waitInterval))
		if err != nil {
			return Status{}, err
		}
		if !announced {
			var active bool
			active, other = c.active.has(ctx, c, id)
			if other == nil {
				matched = time.Now()
			}
			if active {
				listed = true
				continue
			}
			// If the leader has never listed the job, either the leader has not received the job yet,
			// or the job began and ended between two requests. Wait therefore also reads storage, once
			// per maxInterval.
			if !listed && time.Since(looked) < maxInterval {
				continue
			}
		}
		listed, looked = false, time.Now()
		r, err := c.record(ctx, s, id)
		switch {
		case err == nil && r.manifest.State.Final():
			return newStatus(r, nil), nil
		case err == nil && other != nil && time.Since(matched) > c.cfg.Timeout:
			return Status{}, other
		case err == nil:
			answered = time.Now()
		case ctx.Err() != nil, !c.isPassing(err) || time.Since(answered) > c.cfg.Timeout:
			return Status{}, err
		}
	}
}

// firstLook is the time after which Wait first reads storage if the leader does not list the job.
const firstLook = 50 * time.Millisecond

// activeJobs is the leader's latest list of active jobs, shared by all calls of Wait.
type activeJobs struct {
	turn chan struct{} // time of the latest request to the leader
	at   time.Time     // time of the latest request
	list *wire.Jobs    // answer of the leader; nil if no leader answered
	err  error         // ErrOtherStorage if the latest request returned it, otherwise nil
}

func newActiveJobs() activeJobs { return activeJobs{turn: make(chan struct{}, 1)} }

// has reports whether the leader lists the job. The leader's list is at most waitInterval old. If the only
// leaders that answer use another storage, has returns [ErrOtherStorage].
func (a *activeJobs) has(ctx context.Context, c *Client, id string) (bool, error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return false, nil
	}
	defer func() { <-a.turn }()
	if time.Since(a.at) >= waitInterval {
		var err error
		if a.list, err = c.live(ctx, ""); err != nil {
			a.list = nil
		}
		a.err = nil
		if errors.Is(err, ErrOtherStorage) {
			a.err = err
		}
		a.at = time.Now()
	}
	return a.list != nil && slices.ContainsFunc(a.list.Jobs, func(p Progress) bool { return p.Job == id }), a.err
}
