package sim

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// submit submits a job as the command line does, until storage has it.
func (s *Sim) submit(client *process, j *job) {
	client.start(func() {
		for {
			err := client.store.Submit(context.Background(), j.spec)
			if err == nil {
				break
			}
			s.hit("seen: submitted again")
			client.pause(context.Background(), 100*time.Millisecond)
		}
		j.submitted = true
		s.trace.printf(client, "has submitted job %s of %d partitions", j.spec.ID, j.partitions)
	}, nil)
}

// remove removes a job that has ended as the command line does, until it is gone.
func (s *Sim) remove(client *process, j *job) {
	if !j.submitted { // the job is known, and its submission not yet confirmed
		s.after(time.Second, func() { s.remove(client, j) })
		return
	}
	s.checks.endedWell(j)
	j.removing = true
	client.start(func() {
		for client.store.Remove(context.Background(), j.spec.ID) != nil {
			s.hit("seen: removed again")
			client.pause(context.Background(), 100*time.Millisecond)
		}
		j.removed = true
		s.hit("seen: job removed")
		s.trace.printf(client, "has removed job %s", j.spec.ID)
	}, nil)
}

// cancel asks leaders to cancel a job until one confirms it, or says that it has
// ended.
func (s *Sim) cancel(client *process, j *job) {
	j.cancelAsked = true
	if j.cancelled || s.checks.manifests[j.spec.ID].State.Final() {
		return
	}
	s.network.ask(client, func(to *process) bool { return to.leads() > 0 }, func(to *process, answer func(func())) {
		to.candidate.term.cancel(j.spec.ID, func(err error) {
			answer(func() {
				switch {
				case err == nil && !j.cancelled:
					j.cancelled = true
					s.hit("seen: cancel confirmed")
					s.trace.printf(client, "hears that job %s is cancelled", j.spec.ID)
				case err != nil && !errors.Is(err, store.ErrNotFound):
					s.hit("seen: cancel refused")
				}
			})
		})
	}, func() {})
	s.after(time.Second, func() { s.cancel(client, j) })
}
