package sim

import (
	"bytes"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// naming is the behaviour of a client that names its job to the leader.
type naming struct {
	named bool
	late  time.Duration // time for which the queue then keeps the submission, as if others were before it
}

// drawNamed lets some jobs be named to the leader, in a quarter of the seeds. It has its own source of chance, so that a
// seed without such jobs simulates what it did before jobs were named.
func (s *Sim) drawNamed(seed uint64) {
	if seed%4 != 1 {
		return
	}
	c := newRNG(seed*0x9e3779b97f4a7c15 + 2)
	for i := range s.scenario.jobs {
		if c.chance(0.1) {
			s.scenario.jobs[i].naming = naming{true, c.logBetween(time.Millisecond, 10*time.Second)}
		}
	}
}

// name names a job to the leader, and hides the job's submission if no leader has received it.
func (s *Sim) name(client *process, j *job, spec store.Version) {
	for _, m := range s.storage.messages {
		if m.deliveries == 0 && !m.deleted && bytes.Contains(m.body, []byte(j.spec.ID)) {
			m.hiddenUntil = s.now + j.late
			s.after(j.late, func() {
				if state := s.checks.manifest(j.spec.ID).State; m.deliveries == 0 && state != "" && state != store.Queued {
					s.cover("seen: job that began before its submission was delivered")
				}
			})
		}
	}
	s.network.request(client, func(to *process) bool { return to.leads() > 0 }, func(to *process, _ func(func())) {
		to.elector.term.submitted(j.spec.ID, wire.Submitted{Priority: j.spec.Priority, Spec: string(spec)})
	}, func() {})
}
