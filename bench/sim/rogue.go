package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// rogue describes how one function of a job misbehaves.
type rogue struct {
	function wire.Function // the misbehaving function: Plan, Merge or Finish; Map if no function misbehaves
	how      misdeed
	left     int // number of times that the function will still misbehave
	kills    int // number of processes that the function has killed
}

// misdeed is what a function does instead of its work.
type misdeed int

const (
	behaves misdeed = iota
	kills           // misdeed: the process dies
	hangs           // misdeed: the call does not return for a long time, even after its context is cancelled
	lies            // misdeed: the call returns a damaged result
)

const (
	always    = 1000            // stands for "always"; the job of a function that always misbehaves must fail
	callLimit = 2 * time.Second // time after which a worker reports that a call hangs
	mostKills = 5               // maximum number of processes that a function may kill in one term
)

// drawRogue decides at random which function of a job misbehaves, if any, and how.
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
		r.how = kills // a merge that returns a wrong value is excluded, because nobody could detect it
	}
	return r
}

// mustFail reports whether a job cannot complete because one of its functions always misbehaves. A job may
// complete although its Merge misbehaves: a merge within a span does not hang, and a job may have no merge that
// contains its first and its last partition.
func (j *job) mustFail(m store.Manifest) bool {
	r := j.rogue
	if r.function == wire.Merge && (r.how == hangs || j.partitions == 1 || len(m.Skipped) > 0) {
		return false
	}
	return r.left > always/2
}

// misbehaves is called when a function of the job runs. misbehaves returns what the function does instead of
// its work.
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

// merges runs the merges of a simulated process. If one of them is the merge of a job's root, merges returns
// how it misbehaved.
func (s *Sim) merges(do func()) misdeed {
	s.merging, s.misdeed = true, behaves
	do()
	s.merging = false
	return s.misdeed
}

// dies kills the process. dies must be called in a coroutine of the process, and never returns to
// the coroutine's code.
func (p *process) dies() {
	p.timer(0, func() { p.sim.kill(p) })
	p.sim.await(func(func()) {})
}
