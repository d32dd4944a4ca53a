package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// maxAudits is the maximum number of requests that a worker has accepted and not answered.
const maxAudits = 1 << 12

// audits are the second computations for other workers.
type audits struct {
	*core
	tasks   *tasks
	turns   chan struct{} // semaphore for second computations
	pending atomic.Int64  // number of accepted requests that are not answered
	lost    atomic.Int64  // number of second computations that do not return
}

// errNotAudited means that an auditor has computed nothing.
var errNotAudited = errors.New("the worker audits nothing")

// audit compares the audited values on the slot's merge stack with those that another worker
// computes. If no other worker computes them, the slot does. An error is a *jobs.PartitionError or
// errLost.
func (s *slot) audit(span *session.HeldSpan, t *task) error {
	for audited := range slices.Chunk(t.stacks[s.number].Audited(), wire.MaxAudited) {
		partitions := make([]uint64, len(audited))
		for i, a := range audited {
			partitions[i] = a.Partition
		}
		sums, by, err := s.recompute(span, t, partitions)
		if err != nil {
			return err
		}
		for i, a := range audited {
			if err := a.Compare(sums[i], by); err != nil {
				return &jobs.PartitionError{Partition: a.Partition, Err: jobs.Permanent(err)}
			}
		}
	}
	return nil
}

// recompute has partitions computed a second time. The result by says who computed them.
func (s *slot) recompute(span *session.HeldSpan, t *task, partitions []uint64) (sums []engine.SHA256, by string, err error) {
	s.mu.Lock()
	auditors := s.session.Auditors(span)
	s.mu.Unlock()
	for _, auditor := range auditors {
		sums, err = t.ask(auditor, partitions)
		if !errors.Is(err, errNotAudited) {
			return sums, fmt.Sprintf(", by worker %s and by worker %s", s.cfg.ID, auditor), err
		}
	}
	sums, gone, err := t.recompute(t.ctx, partitions)
	if gone != nil {
		s.lose(span, t, failure(0, err), gone)
		return nil, "", errLost
	}
	return sums, "", err
}

// recompute computes partitions a second time on this worker. If the job's code does not return,
// recompute returns a channel that receives a value when the code returns. An error is a
// *jobs.PartitionError.
func (t *task) recompute(ctx context.Context, partitions []uint64) (sums []engine.SHA256, gone <-chan struct{}, err error) {
	var progress engine.Progress
	g := t.watch(t.limits.Map, &progress, partitions[0], engine.MapForAudit)
	progress.Set(partitions[0], engine.MapAgain)
	gone, err = g.run(t.withLog(ctx, t.opening.Job, place{progress: &progress}), func(ctx context.Context) (err error) {
		sums, err = t.opened.Recompute(ctx, partitions, &progress)
		return err
	})
	if err == nil {
		return sums, nil, nil
	}
	partition, _ := progress.At()
	if at, ok := errors.AsType[*jobs.PartitionError](err); ok {
		partition, err = at.Partition, at.Err
	}
	if limit, ok := errors.AsType[*limitError](err); ok {
		limit.what = engine.MapForAudit
	}
	return nil, gone, &jobs.PartitionError{Partition: partition, Err: fmt.Errorf("audit: %w", err)}
}

// ask asks a worker to compute partitions a second time, and waits for the answer. If the worker
// has not begun, ask returns errNotAudited. Otherwise an error is a *jobs.PartitionError: if the
// worker died, the job may have ended its process, so the attempt counts as failed.
func (t *task) ask(auditor string, partitions []uint64) ([]engine.SHA256, error) {
	nc := t.nc
	inbox, answers := nc.NewInbox(), make(chan *nats.Msg, 16)
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, errNotAudited
	}
	defer func() { _ = sub.Unsubscribe() }() // tells the auditor to stop; Unsubscribe fails only if the connection is closed
	request := wire.Encode(wire.AuditRequest{Opening: t.opening, Partitions: partitions})
	ask := func() { _ = nc.PublishRequest(t.cfg.Subjects.Audit(auditor), inbox, request) } // a lost request is repeated
	ask()
	ended := func() error {
		return &jobs.PartitionError{Partition: partitions[0], Err: fmt.Errorf("audit: worker %s did not finish the second computation", auditor)}
	}
	heard, begun := time.Now(), false
	alive := t.timing.auditAlive
	timer := time.NewTicker(alive)
	defer timer.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return nil, &jobs.PartitionError{Partition: partitions[0], Err: t.ctx.Err()}
		case <-timer.C:
			switch silence := time.Since(heard); {
			case silence > 10*alive && begun:
				return nil, ended()
			case silence > 10*alive:
				return nil, errNotAudited
			case silence > 2*alive: // if the auditor has died, only a new request gets the answer that there are no responders
				ask()
			}
		case m := <-answers:
			switch nobody := m.Header.Get("Status") == "503"; {
			case nobody && begun:
				return nil, ended()
			case nobody:
				return nil, errNotAudited
			}
			answer, err := wire.Decode[wire.AuditAnswer](m.Data)
			switch {
			case err != nil || len(answer.Sums) > 0 && len(answer.Sums) != len(partitions): // another program may have sent the message
			case answer.Working:
				heard, begun = time.Now(), true
			default:
				return sums(auditor, answer)
			}
		}
	}
}

// sums returns the sums in an auditor's last answer, which is valid.
func sums(auditor string, answer wire.AuditAnswer) (list []engine.SHA256, err error) {
	if f := answer.Failure; f != nil {
		err := fmt.Errorf("worker %s: %s", auditor, f.Error)
		if f.Permanent {
			err = jobs.Permanent(err)
		}
		return nil, &jobs.PartitionError{Partition: f.Partition, Err: err}
	}
	for _, sum := range answer.Sums {
		list = append(list, engine.SHA256(sum))
	}
	if len(list) == 0 {
		return nil, errNotAudited
	}
	return list, nil
}

// serve answers the requests of other workers. The caller must unsubscribe.
func (a *audits) serve() (*nats.Subscription, error) {
	return a.nc.Subscribe(a.cfg.Subjects.Audit(a.cfg.ID), func(m *nats.Msg) {
		request, err := wire.Decode[wire.AuditRequest](m.Data)
		if err != nil {
			a.cfg.Logger.Debug("Message refused", "subject", m.Subject, "error", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if err != nil || a.quit || a.pending.Load() >= maxAudits {
			_ = m.Respond(wire.Encode(wire.AuditAnswer{})) // if the answer is lost, the request is repeated
			return
		}
		a.pending.Add(1)
		a.goroutines.Go(func() { a.answer(m, request) })
	})
}

// answer computes the partitions of a request and answers it.
func (a *audits) answer(m *nats.Msg, request wire.AuditRequest) {
	ctx, cancel := context.WithCancel(a.life)
	a.goroutines.Go(func() {
		defer cancel()
		a.keepWorking(ctx, m.Reply)
	})
	answer := a.compute(ctx, request)
	cancel()
	_ = m.Respond(wire.Encode(answer)) // if the answer is lost, the request is repeated
	a.pending.Add(-1)
}

// keepWorking tells the worker that sent a request that the answer follows. It returns if ctx is
// done, or if that worker no longer waits.
func (a *audits) keepWorking(ctx context.Context, inbox string) {
	working := wire.Encode(wire.AuditAnswer{Working: true})
	for ctx.Err() == nil {
		// Nobody responds. NATS answers at once that there are no responders if nobody waits.
		next, cancel := context.WithTimeout(ctx, a.timing.auditAlive)
		_, err := a.nc.RequestWithContext(next, inbox, working)
		if !errors.Is(err, nats.ErrNoResponders) {
			<-next.Done()
		}
		cancel()
		if errors.Is(err, nats.ErrNoResponders) {
			return
		}
	}
}

// compute computes the partitions of a request. As many requests are computed at the same time
// as the worker has slots.
func (a *audits) compute(ctx context.Context, request wire.AuditRequest) wire.AuditAnswer {
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return wire.AuditAnswer{}
	}
	t, release, err := a.task(ctx, request.Opening)
	if err != nil {
		a.cfg.Logger.Debug("Job cannot be opened for an audit", "job", request.Opening.Job, "error", firstLine(err))
		return wire.AuditAnswer{}
	}
	computing, cancel := context.WithCancel(t.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	sums, gone, err := t.recompute(computing, request.Partitions)
	cancelled := computing.Err() != nil
	if gone == nil {
		release()
	} else {
		a.lost.Add(1)
		a.cfg.Logger.Error("A job's code does not return", "job", request.Opening.Job, "function", engine.MapForAudit, "error", err)
		a.goroutines.Go(func() {
			<-gone
			release()
			a.lost.Add(-1)
		})
	}
	var answer wire.AuditAnswer
	switch {
	case err != nil && cancelled: // the error is not a failure of the job's code
	case err != nil:
		f := failure(0, err)
		answer.Failure = &f
	default:
		for _, sum := range sums {
			answer.Sums = append(answer.Sums, sum[:])
		}
	}
	return answer
}

// task returns the task of a job. If the worker has not opened the job, task opens it until
// the caller calls release. The job's limit for Open includes the time in which storage is
// unavailable, because another worker waits.
func (a *audits) task(ctx context.Context, o wire.Opening) (t *task, release func(), err error) {
	a.mu.Lock()
	if a.life.Err() != nil || int(a.lost.Load()) >= a.cfg.Slots { // life ends under mu: no ended task gets a user
		a.mu.Unlock()
		return nil, nil, errors.New("the worker is stopping, or too many audits do not return")
	}
	if t := a.tasks.byJob[o.Job]; t != nil && t.opened != nil {
		t.users.Add(1)
		a.mu.Unlock()
		return t, t.users.Done, nil
	}
	t = a.tasks.newTask(o)
	a.mu.Unlock()
	defer context.AfterFunc(ctx, t.cancel)()
	defer time.AfterFunc(t.limits.Open, t.cancel).Stop()
	opened, err := t.open()
	if err != nil {
		t.cancel()
		return nil, nil, err
	}
	t.opened = opened
	return t, func() { t.cancel(); t.close(opened) }, nil
}
