package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// prefixes is the behaviour of a simulated job with estimates.
type prefixes struct {
	judged    bool          // true if the job has estimates
	suffices  uint64        // smallest number of partitions that suffices; noPartition if none does
	stopAfter time.Duration // Spec.StopAfter
}

// drawPrefixes lets some jobs have estimates. It has its own source of chance, so that a seed without such jobs
// simulates what it did before there were estimates.
func (s *Sim) drawPrefixes(seed uint64) {
	c := newRNG(^seed)
	for i := range s.scenario.jobs {
		b := &s.scenario.jobs[i]
		if !c.chance(0.25) {
			continue
		}
		b.prefixes = prefixes{judged: true, suffices: noPartition}
		switch {
		case c.chance(0.6):
			b.suffices = 1 + c.Uint64N(b.partitions)
		case c.chance(0.4):
			b.stopAfter = c.logBetween(100*time.Millisecond, 10*time.Second)
		}
		if b.rogue.function != wire.Map && c.chance(0.5) {
			b.rogue.function = wire.Estimate
		}
	}
}

// stop returns the prefix with which a job must end, or 0 if it needs all partitions. The skipped partitions must be
// in order; a prefix that has only skipped partitions is not judged.
func (j *job) stop(skipped ...uint64) uint64 {
	if !j.judged || j.suffices == noPartition {
		return 0
	}
	rung := engine.NextRung(j.suffices - 1)
	for rung <= uint64(len(skipped)) && skipped[rung-1] == rung-1 {
		rung = engine.NextRung(rung)
	}
	if rung < j.partitions {
		return rung
	}
	return 0
}

// smaller returns a job that consists of the first partitions of this job, and has no estimates.
func (j *job) smaller(partitions uint64) *job {
	tree, err := engine.NewTree(partitions)
	if err != nil {
		panic(err) // cannot happen: a prefix has at least one partition
	}
	smaller := *j
	smaller.tree, smaller.nodes, smaller.partitions = tree, map[engine.Node][]byte{}, partitions
	return &smaller
}

// needed returns the job whose result a manifest's result must equal.
func (j *job) needed(m store.Manifest) *job {
	switch {
	case m.Rounds != nil:
		return j.withRounds(m.Rounds.Counted())
	case m.Stopped != nil:
		return j.smaller(m.Stopped.At)
	}
	return j
}

// judgedWell checks the estimates of a manifest: one for each rung, in order, with the bytes of a single process,
// and all rungs up to the stop.
func (c *checks) judgedWell(by string, j *job, old, m store.Manifest) {
	if len(m.Judged) < len(old.Judged) || old.Stopped != nil && (m.Stopped == nil || *m.Stopped != *old.Stopped) {
		c.sim.fail("%s wrote a manifest of job %s with %d estimates and the stop %+v, after %d and %+v", by, j.spec.ID, len(m.Judged), m.Stopped, len(old.Judged), old.Stopped)
	}
	rung := uint64(0)
	for i, e := range m.Judged {
		if rung = engine.NextRung(rung); e.Partitions != rung || rung >= j.partitions {
			c.sim.fail("%s wrote a manifest of job %s whose estimate %d is for %d partitions", by, j.spec.ID, i, e.Partitions)
			return
		}
		if i < len(old.Judged) || len(m.Skipped) > 0 || j.sours != noPartition { // skipped partitions may count again later
			continue
		}
		if want, err := j.smaller(rung).estimate(); err != nil || string(e.Value) != want {
			c.sim.fail("%s wrote a manifest of job %s that estimates %s for %d partitions, a single process %s (%v)", by, j.spec.ID, e.Value, rung, want, err)
		}
	}
	switch s := m.Stopped; {
	case s == nil:
	case !s.Timed && (s.At != rung || s.At != j.stop(m.Skipped...)):
		c.sim.fail("%s wrote a manifest of job %s that stops at %d partitions and judges %d, want a stop at %d", by, j.spec.ID, s.At, rung, j.stop(m.Skipped...))
	case s.Timed && (j.spec.StopAfter == 0 || s.At != rung && s.At != engine.NextRung(rung)):
		c.sim.fail("%s wrote a manifest of job %s that stops in time at %d partitions, after %d", by, j.spec.ID, s.At, rung)
	default:
		c.sim.cover(map[bool]string{false: "seen: prefix that suffices", true: "seen: job that stops in time"}[s.Timed])
		if m.Epoch > m.Epochs[0] {
			c.sim.cover("seen: stop after a change of leader")
		}
	}
}

// estimate returns the estimate of all partitions of a job.
func (j *job) estimate() (string, error) {
	root, err := j.referenceNode(j.tree.Root(), nil)
	if err != nil {
		return "", err
	}
	e, err := j.sim.versions[0].Engine().Estimate(context.Background(), j.spec.Params, engine.Operand{Data: root}, j.partitions)
	return string(e.Value), err
}

// endsAtStop reports whether a job that must stop at a prefix has done so. A failure of a partition counts only
// below the prefix.
func (c *checks) endsAtStop(j *job, m store.Manifest) error {
	at := j.stop()
	if at == 0 || j.spec.MaxSkipped > 0 {
		return nil
	}
	if m.State == store.Completed && m.Stopped == nil {
		return fmt.Errorf("it completed with all partitions, want a stop at %d", at)
	}
	var partition uint64
	if _, err := fmt.Sscanf(m.Error, "partition %d ", &partition); m.State == store.Failed && err == nil && partition >= at {
		return fmt.Errorf("it failed because of a partition above the stop at %d: %s", at, m.Error)
	}
	return nil
}

// dropped reports whether partitions are above the stop that a manifest contains, so that nobody needs them.
func dropped(m store.Manifest, span engine.Span) bool {
	return m.Stopped != nil && span.Lo >= m.Stopped.At
}
