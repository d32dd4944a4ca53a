package term_test

import (
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// A job that is cancelled at any moment of a storage call, which then takes long,
// is cancelled or has ended; whoever asked knows which; and nothing is left of it.
func TestCancelAtEveryMoment(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=12", "pad=3_000"},
		{"partitions=5", "pad=100_000"},
	} {
		s := newStage(t)
		s.hold = func(int) func() bool { return nil }
		s.run(params, func() bool { return false })
		cancelled := 0
		for moment := 1; moment <= s.moments; moment++ {
			t.Run(fmt.Sprintf("%v/%d", params, moment), func(t *testing.T) {
				s := newStage(t)
				held, over := s.holdAt(moment)
				job := s.run(params, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				leader := s.leaders[0]
				var answers []error
				leader.turn(func() { leader.term.Cancel(job, func(err error) { answers = append(answers, err) }) })
				s.pass(10 * step)
				*over = true
				s.until("the job's end", func() bool { return len(answers) > 0 && s.manifest(job).State.Final() && s.tidy() })
				switch state := s.manifest(job).State; {
				case len(answers) > 1:
					t.Errorf("%d answers: %v", len(answers), answers)
				case state == store.Cancelled && answers[0] == nil:
					cancelled++
				case state != store.Completed || answers[0] == nil:
					t.Errorf("job is %s, answer %v", state, answers[0])
				}
				s.until("the last removal", func() bool { return len(s.partials()) == 0 })
				if leader.over {
					t.Error("the leader is gone")
				}
			})
		}
		if cancelled < s.moments/2 {
			t.Errorf("at %d of %d moments the job was cancelled", cancelled, s.moments)
		}
	}
}

// A job whose code does not return keeps its part of the leader, and nothing else.
func TestJobCodeThatDoesNotReturn(t *testing.T) {
	s := newStage(t)
	hung := false
	hanging := jobs.MustNew(lettersDefinition(func() {
		if !hung {
			hung = true
			s.wait(func() bool { return false })
		}
	}))
	s.hire("w1")
	leader := s.lead(func(cfg *term.Config) { cfg.Jobs, cfg.MaxMerging = []jobs.Job{hanging}, 2 })
	stuck := s.submit("partitions=2")
	s.until("the merge to hang", func() bool { return hung })
	job := s.submit("partitions=10")
	s.until("the other job's end", func() bool { return s.manifest(job).State == store.Completed })
	answered := false
	leader.turn(func() {
		leader.term.Cancel(stuck, func(err error) {
			answered = true
			if err != nil {
				t.Error(err)
			}
		})
	})
	s.until("the answer", func() bool { return answered && s.tidy() })
	leader.turn(leader.term.Stop)
	if _, left := leader.term.Left(); !left {
		t.Error("the leader stays, though nothing is left to checkpoint")
	}
}
