// Package inprocess runs a job in this process and shows its progress.
package inprocess

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/cmd/internal/machine"
	"github.com/bellwether-compute/bellwether/cmd/internal/progress"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// localID is shown as the job ID of a job that ran only in this process.
const localID = "local"

// Run runs a job in this process and shows progress. If check is true, Run runs the job
// several times and compares the runs. The second result of Run is the attachment of the job's
// result.
func Run(ctx context.Context, a *console.App, job jobs.Job, params jobs.Params, local jobs.Local, check bool) (answer.Outcome, jobs.Attachment) {
	var done, all atomic.Uint64
	local.Progress = func(d, n uint64) {
		all.Store(n)
		for old := done.Load(); d > old && !done.CompareAndSwap(old, d); old = done.Load() {
		}
	}
	var estimate atomic.Pointer[string]
	local.Estimated = func(e jobs.Estimated) {
		text := answer.Estimate([]jobs.Estimated{e})
		estimate.Store(&text)
	}
	status := client.Status{Spec: client.Spec{Rounds: job.MaxRounds(params), Measure: job.Measure()}, Round: 1}
	var round atomic.Pointer[string]
	local.Rounded = func(r jobs.Rounded) {
		status.Round, status.FinishedRounds = r.Round+1, append(status.FinishedRounds, r)
		text := answer.Round(status)
		round.Store(&text)
		done.Store(0)
	}
	started := time.Now()
	o := answer.Outcome{
		ID: localID, Job: job.Name(), Version: job.Version(), Epochs: []uint64{}, Skipped: []uint64{}, Builds: []string{wire.ThisBuild()},
		Submitted: answer.Timestamp(started), Started: answer.Timestamp(started),
	}

	var speed progress.Speedometer
	stop := progress.Follow(a.Err, func() progress.Snapshot {
		s := progress.Snapshot{State: client.Running, Done: done.Load(), All: all.Load()}
		s.Rate = speed.Observe(time.Now(), s.Done)
		if text := estimate.Load(); text != nil {
			s.Estimate = *text
		}
		if text := round.Load(); text != nil {
			s.Round = *text
		}
		return s
	})
	result, runs, err := runOrCheck(ctx, job, params, local, check)
	stop()

	o.Finished = answer.Timestamp(time.Now())
	if finished := uint64(len(status.FinishedRounds)); finished > 0 { // in a run that fails, the last round is one more
		o.Rounds = min(finished+1, status.Rounds)
		done.Add(finished * all.Load())
	}
	switch {
	case err == nil:
		o.State, o.Partitions, o.Executed = client.Completed, result.Partitions, done.Load()
		needed := o.Partitions
		if o.Stopped = result.Stopped; o.Stopped != nil {
			needed = o.Stopped.At
		}
		if o.Stopped != nil && !check {
			o.Executed = needed // partitions above the prefix do not count
		}
		if o.Rounds, o.TimeUp = result.Rounds, result.TimeUp; o.Rounds > 0 {
			needed *= o.Rounds
		}
		if o.Rounds > 0 && !check {
			o.Executed = needed
		}
		o.Repeated = o.Executed - needed
		if local.Reuse.Kept != nil {
			o.Executed -= result.Reused.Partitions
			o.Reuse = &answer.Reuse{Reuse: client.Reuse{Partitions: result.Reused.Partitions, SavedSeconds: result.Reused.Work.Seconds()}}
		}
		o.Result, o.SHA256 = result.Result, client.Fingerprint(result.Result)
	case errors.Is(context.Cause(ctx), machine.ErrMemory):
		o.State, o.Partitions, o.Executed, o.Error = client.Failed, all.Load(), done.Load(), context.Cause(ctx).Error()
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		o.State, o.Partitions, o.Executed = client.Cancelled, all.Load(), done.Load()
	default:
		o.State, o.Partitions, o.Executed, o.Error = client.Failed, all.Load(), done.Load(), err.Error()
	}
	if check && err == nil {
		a.Note("the bytes are the same in %d runs: %s", len(runs), strings.Join(runs, "; "))
	}
	return o, result.Attachment
}

// runOrCheck runs a job once, or checks the job if check is true. If check is true, runOrCheck also returns
// descriptions of the runs.
func runOrCheck(ctx context.Context, job jobs.Job, params jobs.Params, local jobs.Local, check bool) (jobs.LocalResult, []string, error) {
	if !check {
		result, err := local.Run(ctx, job, params)
		return result, nil, err
	}
	checked, err := jobs.Check{Slots: local.Slots, Attempts: local.Attempts, Grant: local.Grant, Memory: local.Memory, Progress: local.Progress}.Run(ctx, job, params)
	return checked.LocalResult, checked.Runs, err
}
