package sim

import (
	"context"
	"errors"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// submit submits a job as package jobs/client does, and retries until the submission is in storage.
func (s *Sim) submit(client *process, j *job) {
	client.spawn(func() {
		var spec store.Version
		for {
			var err error
			if spec, err = client.store.SubmitVersion(context.Background(), j.spec); err == nil {
				break
			}
			s.cover("seen: submission retried")
			client.pause(context.Background(), 100*time.Millisecond)
		}
		j.submitted = true
		s.trace.printf(client, "has submitted job %s of %d partitions", j.spec.ID, j.partitions)
		if j.named {
			s.name(client, j, spec)
		}
	}, nil)
}

// remove removes a job that has ended, and retries until nothing of the job is left in storage.
func (s *Sim) remove(client *process, j *job) {
	if !j.submitted { // a leader has found the job, but the client has not received the confirmation
		s.after(time.Second, func() { s.remove(client, j) })
		return
	}
	s.checks.endedWell(j)
	j.removing = true
	key := "spec/" + j.spec.ID
	spec, _, err := s.storage.blobs.Get(context.Background(), key)
	if err != nil {
		s.fail("read the spec of job %s, which was not removed: %v", j.spec.ID, err)
	}
	client.spawn(func() {
		for client.store.Remove(context.Background(), j.spec.ID) != nil {
			s.cover("seen: removal retried")
			client.pause(context.Background(), 100*time.Millisecond)
		}
		j.removed = true
		s.cover("seen: job removed")
		s.trace.printf(client, "has removed job %s", j.spec.ID)
		if j.specAgain >= 0 {
			s.after(j.specAgain, func() { s.storeAgain(client, key, spec) })
		}
	}, nil)
}

// storeAgain stores a blob that is absent, like a late write of the client.
func (s *Sim) storeAgain(client *process, key string, value []byte) {
	if version, err := s.storage.blobs.Put(context.Background(), key, value, store.IfAbsent); err == nil {
		s.storage.history[key] = append(s.storage.history[key], version)
		s.cover("fault: spec stored again after the job was removed")
		s.trace.printf(client, "    writes %s, late: true", key)
		s.storage.origins[key] = origin{writer: client, late: true}
	}
}

// cancel requests a job's cancellation until a leader confirms it or the job has ended.
func (s *Sim) cancel(client *process, j *job) {
	j.cancelAsked = true
	if j.cancelled || s.checks.manifest(j.spec.ID).State.Final() {
		return
	}
	s.network.request(client, func(to *process) bool { return to.leads() > 0 }, func(to *process, reply func(func())) {
		to.elector.term.cancel(j.spec.ID, func(err error) {
			reply(func() {
				switch {
				case to.storage != client.storage: // a leader on another storage does not know the job
				case err == nil && !j.cancelled:
					j.cancelled = true
					s.cover("seen: cancel confirmed")
					s.trace.printf(client, "hears that job %s is cancelled", j.spec.ID)
				case err != nil && !errors.Is(err, store.ErrNotFound):
					s.cover("seen: cancel refused")
				}
			})
		})
	}, func() {})
	s.after(time.Second, func() { s.cancel(client, j) })
}
