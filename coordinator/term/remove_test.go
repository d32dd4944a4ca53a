package term_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// fate is what becomes of a leader, one of whose storage calls took long.
type fate string

const (
	goesOn fate = "goes on"
	loses  fate = "loses the call" // or its answer
	dies   fate = "dies"
)

// meet lets the moment pass that was held.
func (s *stage) meet(f fate, over *bool) {
	switch f {
	case loses:
		s.loses = true
	case dies:
		s.leaders[s.watched-1].kill()
		s.lead(plain)
	}
	*over = true
}

// atEveryMoment tries every fate at every moment of a leader's storage calls.
func atEveryMoment(t *testing.T, moments int, try func(t *testing.T, moment int, f fate)) {
	for moment := 1; moment <= moments; moment++ {
		for _, f := range []fate{goesOn, loses, dies} {
			t.Run(fmt.Sprintf("%d/%s", moment, f), func(t *testing.T) { try(t, moment, f) })
		}
	}
}

// wantNothing waits until nothing is left of any job, and checks that nothing comes
// back and that whoever leads goes on.
func (s *stage) wantNothing() {
	s.t.Helper()
	s.until("all to be gone", s.empty)
	s.pass(2 * hideFor)
	last := s.leaders[len(s.leaders)-1]
	if _, left := last.term.Left(); !s.empty() || last.over || left {
		s.t.Error("something came back, or the leader is gone")
	}
}

// A job that has ended, or is cancelled, is removed at any moment of a storage call
// of its leader.
func TestRemoveAtEveryMoment(t *testing.T) {
	params := []string{"partitions=5", "pad=100_000"}
	s := newStage(t)
	s.hold = func(int) func() bool { return nil }
	s.run(params, func() bool { return false })
	ended, cancelled := 0, 0
	atEveryMoment(t, s.moments, func(t *testing.T, moment int, f fate) {
		s := newStage(t)
		held, over := s.holdAt(moment)
		job := s.run(params, func() bool { return *held })
		if s.manifest(job).State.Final() {
			ended++
		} else {
			leader := s.leaders[0]
			leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
			s.pass(20 * step)
			if !s.manifest(job).State.Final() {
				return // what is held keeps it from ending
			}
			cancelled++
		}
		s.remove(job)
		s.meet(f, over)
		s.wantNothing()
	})
	if ended < 10 || cancelled < 10 {
		t.Errorf("the job had ended at %d moments, at %d it was cancelled", ended, cancelled)
	}
}

// A job is cancelled and removed while its leader begins it. After that a second of
// its calls takes long.
func TestRemoveWhileBegun(t *testing.T) {
	removed, params := 0, []string{"partitions=5"}
	for begun := 1; begun <= 12; begun++ {
		atEveryMoment(t, 12, func(t *testing.T, moment int, f fate) {
			s := newStage(t)
			heldFirst, overFirst := s.holdAt(begun)
			job := s.run(params, func() bool { return *heldFirst })
			leader := s.leaders[0]
			leader.turn(func() { leader.term.Cancel(job, func(error) {}) })
			s.pass(20 * step)
			if !s.manifest(job).State.Final() {
				return
			}
			s.remove(job)
			held, over := s.holdAt(s.moments + moment)
			*overFirst = true
			s.pass(20 * step)
			if *held {
				removed++
				s.meet(f, over)
			}
			s.wantNothing()
		})
	}
	if removed < 100 {
		t.Errorf("there were %d moments", removed)
	}
}

// A job ends and is removed at any moment at which the next leader is about to resume
// it. Until that one has fenced the first off, it goes on.
func TestRemoveWhileResumed(t *testing.T) {
	removed := 0
	atEveryMoment(t, 12, func(t *testing.T, moment int, f fate) {
		s := newStage(t)
		worker := s.hire("w1")
		first := s.lead(plain)
		job := s.submit("partitions=5")
		s.until("the job to run", func() bool { return s.manifest(job).State == store.Running })
		s.watched = 2
		held, over := s.holdAt(moment)
		s.lead(plain)
		worker.follow(first)
		s.until("the job's end", func() bool { return s.manifest(job).State.Final() || first.over })
		if !*held || first.over {
			return
		}
		removed++
		s.remove(job)
		s.meet(f, over)
		s.wantNothing()
	})
	if removed < 12 {
		t.Errorf("the job was removed at %d moments", removed)
	}
}

// A job may be cancelled before its submission is received, and then removed.
func TestSubmissionOfRemovedJob(t *testing.T) {
	s := newStage(t)
	job := s.submit("partitions=5")
	s.remove(job)
	leader := s.lead(plain)
	s.until("all to be gone", s.empty)
	if leader.over {
		t.Error("the leader is gone")
	}
	s.hire("w1").follow(leader)
	s.wantCompleted(s.submit("partitions=5"), alone(t, "partitions=5"))
}

func (s *stage) remove(job string) {
	s.t.Helper()
	if err := s.store.Remove(context.Background(), job); err != nil {
		s.t.Fatal(err)
	}
}

// empty reports whether there is nothing of any job.
func (s *stage) empty() bool {
	s.t.Helper()
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "active/"} {
		keys, err := s.blobs.List(context.Background(), kind)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(keys) > 0 {
			return false
		}
	}
	return len(s.queue.messages) == 0
}

// A job that cannot be read is removed while its leader has it set aside.
func TestRemoveDamaged(t *testing.T) {
	for _, damaged := range []string{"spec/", "manifest/"} {
		t.Run(damaged, func(t *testing.T) {
			s := newStage(t)
			job := s.submit("partitions=5")
			if damaged == "spec/" { // or nobody would have begun it
				done := store.Manifest{Epoch: 1, Sequence: 1, State: store.Running, Partitions: 5, Epochs: []uint64{1}}
				if _, err := s.store.PutManifest(t.Context(), job, done, store.IfAbsent); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.blobs.Put(t.Context(), damaged+job, []byte{1}, store.Always); err != nil {
				t.Fatal(err)
			}
			l := s.lead(plain)
			s.until("the job to be set aside", func() bool { return len(l.term.Jobs(wire.JobQuery{}).Jobs) == 1 })
			s.pass(2 * hideFor)
			s.remove(job)
			s.wantNothing()
			if jobs := l.term.Jobs(wire.JobQuery{}).Jobs; len(jobs) > 0 {
				t.Errorf("the leader still has %+v", jobs)
			}
		})
	}
}
