package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"golang.org/x/sync/errgroup"
)

// Local runs a job in this process. A local run performs the same merges as a cluster, so the
// result has the same bytes as a cluster's result.
type Local struct {
	Slots    int // number of goroutines that call Map; at least 1
	Attempts int // number of attempts per partition, without pauses; at least 1
	Audit    Audit
	Reuse    Reuse

	// Grant contains what the job may use, such as the folders whose files it may read. A job that
	// reads from a cluster's storage account also needs a context of cluster.With.
	Grant Grant

	// Memory is the number of bytes of memory that the job may use, of which a [Cache] keeps at most three quarters. 0 means
	// [DefaultMemory]. Other memory of the job is not limited.
	Memory int64

	// Progress, if not nil, is called with the number of finished partitions, at first 0, and the number of
	// all partitions. Progress is called from several goroutines.
	Progress func(done, all uint64)

	// Estimated, if not nil, is called with each estimate of a job with estimates, in the order of the rungs.
	Estimated func(Estimated)

	// Rounded, if not nil, is called after each round of a job with rounds. Progress then begins again for the next round.
	Rounded func(Rounded)

	// StopAfter, if not 0, is the time after which a job with estimates ends with the result of its largest judged
	// prefix, and a job with rounds with that of the last state, which is not the same in every run. If no prefix is judged
	// by then, or no round finished, the job ends with the first one.
	StopAfter time.Duration
	began     time.Time

	twice    bool // each prefix is judged twice, and the judgements are compared
	prefixes bool // a failed partition ends only the work above it, because a prefix below it may suffice
}

// LocalResult is the result of a run in one process.
type LocalResult struct {
	Result     json.RawMessage
	Partitions uint64
	Attachment Attachment // attachment of the result; zero if the result has no attachment
	Reused     Reused
	Rounds     uint64   // number of rounds that a job with rounds has run
	TimeUp     bool     // true if the result is that of the rounds that were finished when StopAfter had passed
	Stopped    *Stopped // set if the job's Stop ended the job, so that the result contains only the first partitions
}

// Run plans, maps, merges and finishes a job. The params are in the stored form. When
// ctx is done, Run waits for the running partitions to end and returns the error of ctx.
func (l Local) Run(ctx context.Context, job Job, params Params) (LocalResult, error) {
	ctx, release := l.prepare(ctx)
	defer release()
	if err := l.checkAudit(job, params); err != nil {
		return LocalResult{}, err
	}
	if l.began = time.Now(); l.StopAfter > 0 && !job.StopsEarly(params) {
		return LocalResult{}, fmt.Errorf("job %s has neither estimates nor rounds with these parameters, so it cannot end early: want no StopAfter", job.Name())
	}
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return LocalResult{}, err
	}
	tree, err := engine.NewTree(plan.Partitions)
	if err != nil {
		return LocalResult{}, err
	}
	task, err := job.binding.open(ctx, params, plan)
	if err != nil {
		return LocalResult{}, err
	}
	var root engine.Operand
	var stopped *Stopped
	var done iterated
	if job.MaxRounds(params) > 0 {
		done, err = l.iterate(ctx, job, params, plan, task, tree)
		root = engine.Operand{Data: done.state, Own: true}
	} else {
		task.audits(l.Audit)
		root, stopped, err = l.reduce(ctx, job, params, task, tree)
	}
	if closeErr := task.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close job %s: %w", job.Name(), closeErr)
	}
	needed := plan.Partitions
	if stopped != nil {
		needed = stopped.At
	}
	result := LocalResult{Partitions: plan.Partitions, Reused: task.reused(needed), Stopped: stopped, Rounds: done.rounds, TimeUp: done.timeUp}
	if err == nil {
		result.Result, result.Attachment, err = job.finish(ctx, params, root)
	}
	if err != nil {
		return LocalResult{}, errors.Join(err, cleanUp(ctx, job, task))
	}
	return result, nil
}

// prepare returns the context of a job's code. The log of the job says if storage throttles requests.
func (l Local) prepare(ctx context.Context) (prepared context.Context, release func()) {
	log := Logger(ctx)
	ctx = source.Watch(withMemory(ctx, l.Memory), func(t source.Throttling) { t.Log(log) })
	ctx, dropSpills := withTempSpills(ctx)
	ctx, endGrant := WithGrant(ctx, l.Grant)
	return ctx, func() {
		endGrant()
		dropSpills()
	}
}

// finish computes the result of a job from the root's partial.
func (j Job) finish(ctx context.Context, params Params, root engine.Operand) (json.RawMessage, Attachment, error) {
	result, attached, err := j.binding.Finish(ctx, params, root)
	attachment, _ := attached.(Attachment)
	if err == nil {
		attachment, err = attachment.inMemory(ctx) // what was moved to storage is removed when the run has ended
	}
	return result, attachment, err
}

// cleanUp cleans up after a closed task, even if ctx is done.
func cleanUp(ctx context.Context, job Job, task openTask) error {
	if err := task.CleanUp(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("clean up after job %s: %w", job.Name(), err)
	}
	return nil
}

// RunPartition plans a job and maps only one partition, to find out why the partition failed.
// RunPartition returns the encoded partial and the job's number of partitions.
func (l Local) RunPartition(ctx context.Context, job Job, params Params, partition uint64) (partial []byte, partitions uint64, err error) {
	ctx, release := l.prepare(ctx)
	defer release()
	if err := l.checkAudit(job, params); err != nil {
		return nil, 0, err
	}
	plan, err := job.Plan(ctx, params)
	if err != nil {
		return nil, 0, err
	}
	if partition >= plan.Partitions {
		return nil, plan.Partitions, fmt.Errorf("partition %d: want 0 to %d: the job has %d partitions", partition, plan.Partitions-1, plan.Partitions)
	}
	task, err := job.binding.open(ctx, params, plan)
	if err != nil {
		return nil, plan.Partitions, err
	}
	if l.Audit.Share > 0 {
		task.audits(Audit{Share: MaxAudit})
	}
	defer func() {
		if closeErr := task.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close job %s: %w", job.Name(), closeErr)
		}
		err = errors.Join(err, cleanUp(ctx, job, task))
	}()
	err = Local{Slots: 1, Attempts: l.Attempts}.each(ctx, task, 1, func(uint64) Span { return Span{Lo: partition, Hi: partition + 1} },
		func(_ uint64, s engine.Stack) error {
			partials, err := s.Drain(partition + 1)
			if err == nil {
				partial = partials[0].Data
			}
			return err
		})
	return partial, plan.Partitions, err
}

// subtreesPerSlot is the number of subtrees per slot. With more subtrees, the slots finish at about
// the same time; with fewer subtrees, the overhead per subtree is smaller.
const subtreesPerSlot = 64

// reduce computes the subtrees of one level concurrently and merges them as soon as two
// siblings are finished. The subtrees are nodes of the aggregation tree, so reduce performs
// exactly the merges of the tree. Slots begin the subtrees in order, so the number of values
// in memory is about the number of slots plus the number of levels. Slots that are left without a subtree help
// to merge shards. If a prefix suffices, reduce returns its partial instead of the root's.
func (l Local) reduce(ctx context.Context, job Job, params Params, task openTask, tree engine.Tree) (engine.Operand, *Stopped, error) {
	l.prefixes = job.Estimates(params)
	spans, err := l.spans(ctx, job, task, tree)
	if err != nil {
		return engine.Operand{}, nil, err
	}
	var done atomic.Uint64
	if l.Progress != nil {
		l.Progress(0, tree.Partitions())
	}
	f := task.forest()
	ctx = engine.WithIdle(ctx, new(engine.Idle))
	judge := judge{Local: l, job: job, params: params, tree: tree, forest: f}
	limited, release := judge.limit(ctx)
	defer release()
	err = l.each(limited, task, uint64(len(spans)), func(i uint64) Span { return spans[i] }, func(i uint64, s engine.Stack) error {
		if err := f.add(limited, s, l.Attempts); err != nil {
			return fmt.Errorf("merge partials of job %s: %w", job.Name(), err)
		}
		if l.Progress != nil {
			l.Progress(done.Add(spans[i].Len()), tree.Partitions())
		}
		return judge.run(limited)
	})
	if err != nil && ctx.Err() == nil {
		judge.stopInTime()
	}
	switch {
	case judge.stopped != nil:
		return judge.prefix, judge.stopped, nil
	case err != nil:
		return engine.Operand{}, nil, err
	case judge.waiting.Load() > 0:
		return engine.Operand{}, nil, fmt.Errorf("job %s: Estimate or Stop: %w", job.Name(), ErrGoexit)
	}
	root, err := f.root()
	if err != nil {
		return engine.Operand{}, nil, fmt.Errorf("job %s: %w", job.Name(), err)
	}
	return engine.Operand{Data: root, Own: true}, nil, nil
}

// spans returns the spans that slots run, in order.
func (l Local) spans(ctx context.Context, job Job, task openTask, tree engine.Tree) ([]Span, error) {
	level := tree.Root().Level
	for level > 0 && subtrees(tree, level) < uint64(max(l.Slots, 1))*subtreesPerSlot {
		level--
	}
	var found []keptNode
	if l.Reuse.Kept != nil {
		var err error
		if found, err = task.reuses(ctx, l.Reuse, level); err == nil {
			err = task.describe()
		}
		if err != nil {
			return nil, fmt.Errorf("find kept partials of job %s: %w", job.Name(), err)
		}
	}
	if l.prefixes {
		return l.segments(tree, found), nil
	}
	return cut(tree, level, found), nil
}

// cut returns the spans that slots run, in order. Each is the span of a node: of a kept node above the
// level, or else of a node of the level.
func cut(tree engine.Tree, level uint8, found []keptNode) (spans []Span) {
	add := func(hi uint64) {
		for lo := last(spans).Hi; lo < hi; lo = last(spans).Hi {
			spans = append(spans, tree.Span(engine.Node{Level: level, Index: lo >> level}))
		}
	}
	for _, f := range found {
		if f.node.Level > level {
			add(f.span.Lo)
			spans = append(spans, f.span)
		}
	}
	add(tree.Partitions())
	return spans
}

// last returns the last span of a list, or an empty span before the first partition.
func last(spans []Span) Span {
	if len(spans) == 0 {
		return Span{}
	}
	return spans[len(spans)-1]
}

// each runs n spans in the slots. After each span, each calls the function done with the stack that
// contains the span's nodes. The function done must empty the stack, and is called from several
// goroutines. If it returns errSuffices, all slots stop. A slot that has ended is an idle slot of ctx.
func (l Local) each(ctx context.Context, task openTask, n uint64, span func(i uint64) Span, done func(i uint64, s engine.Stack) error) error {
	var next atomic.Uint64
	var stop atomic.Bool
	var failed firstFailure
	interrupted := make(chan error, max(l.Slots, 1)) // errors of slots whose goroutine was ended by runtime.Goexit in the job's code
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	var group errgroup.Group
	for range max(l.Slots, 1) {
		group.Go(func() error {
			defer engine.IdleOf(ctx).Add(1)
			s := task.NewStack()
			defer func() {
				if err := s.Interrupted(); err != nil {
					stop.Store(true)
					interrupted <- err
				}
			}()
			for {
				i := next.Add(1) - 1
				if i >= n || failed.before(i) {
					return nil
				}
				err := l.runSpan(ctx, s, span(i), &stop)
				if err == errStopped {
					return nil // the goroutine of the failed slot returns the error
				}
				if err == nil {
					err = done(i, s)
				}
				if _, ok := errors.AsType[*PartitionError](err); ok && l.prefixes {
					failed.note(i, err)
					return nil
				}
				if err != nil {
					stop.Store(true)
					return err
				}
			}
		})
	}
	err := cmp.Or(group.Wait(), failed.err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case exited := <-interrupted:
		err = cmp.Or(err, exited)
	default:
	}
	return err
}

// subtrees returns the number of nodes on a level, including nodes that have a name on a higher level too.
func subtrees(t engine.Tree, level uint8) uint64 { return (t.Partitions()-1)>>level + 1 }

// errStopped is the error of a slot that stopped because another slot has failed, or because the
// context is done.
var errStopped = errors.New("stopped")

// runSpan runs a span, and retries a failed partition without a pause.
func (l Local) runSpan(ctx context.Context, s engine.Stack, span Span, stop *atomic.Bool) error {
	for failed := 0; !span.Empty(); {
		attempt := ctx
		if failed > 0 {
			attempt = logAgain(ctx)
		}
		next, err := s.Run(attempt, span, stop)
		if next > span.Lo {
			failed = 0
		}
		span.Lo = next
		if err != nil {
			if failed++; IsPermanent(err) || failed >= l.Attempts {
				return err
			}
		}
		if stop.Load() && !span.Empty() {
			return errStopped
		}
	}
	return nil
}

func (l Local) checkAudit(job Job, params Params) error {
	if l.Audit.Share == 0 {
		return nil
	}
	return job.CheckAudit(params)
}
