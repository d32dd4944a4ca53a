package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// rogue describes the misbehaviour of one function of a job.
type rogue struct {
	function wire.Function // Plan, Merge or Finish; Map: no function misbehaves
	how      misdeed
	left     int // how often the function will misbehave
	kills    int // processes that it has killed
}

// misdeed is what a function does instead of its work.
type misdeed int

const (
	behaves misdeed = iota
	kills           // the process dies
	hangs           // the call does not return for a long time, although it is cancelled
	lies            // the call returns a damaged result
)

const (
	always    = 1000            // a function that always misbehaves must fail its job
	callLimit = 2 * time.Second // how long a call may take
	mostKills = 5               // how many processes a function that always kills may kill in one term
)

// drawRogue decides whether a function of a job misbehaves.
func (s *Sim) drawRogue() rogue {
	c := s.rng
	if !c.chance(0.12) {
		return rogue{}
	}
	r := rogue{
		function: []wire.Function{wire.Plan, wire.Merge, wire.Finish}[c.IntN(3)],
		how:      []misdeed{kills, hangs, lies}[c.IntN(3)],
		left:     always,
	}
	if c.chance(0.4) {
		r.left = c.intBetween(1, 3)
	}
	if r.function == wire.Merge && r.how == lies {
		r.how = kills // a merge that returns a wrong value is the user's own result
	}
	return r
}

// mustFail reports whether a job cannot complete because a function always misbehaves. A
// merge within a span does not hang, and there may be no merge of the first with the last
// partition.
func (j *job) mustFail(m store.Manifest) bool {
	r := j.rogue
	if r.function == wire.Merge && (r.how == hangs || j.partitions == 1 || len(m.Skipped) > 0) {
		return false
	}
	return r.left > always/2
}

// misbehaves returns the misdeed of a function of the job at this moment.
func (j *job) misbehaves(function wire.Function) misdeed {
	r := &j.rogue
	if r.function != function || r.left == 0 {
		return behaves
	}
	r.left--
	switch r.how {
	case kills:
		r.kills++
		j.sim.cover("fault: " + function.String() + " killed its process")
	case hangs:
		j.sim.cover("fault: " + function.String() + " hung")
	case lies:
		j.sim.cover("fault: " + function.String() + " returned damaged data")
	}
	return r.how
}

// merges calls do, which merges partials in a process, and returns the misdeed of the
// merge of a job's root.
func (s *Sim) merges(do func()) misdeed {
	s.merging, s.misdeed = true, behaves
	do()
	s.merging = false
	return s.misdeed
}

// dies ends the process from within one of its coroutines, which does not return.
func (p *process) dies() {
	p.timer(0, func() { p.sim.kill(p) })
	p.sim.await(func(func()) {})
}
