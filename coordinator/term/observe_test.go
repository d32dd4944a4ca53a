package term_test

import (
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
)

// What two terms tell of one job adds up to each partition once, though the first
// leader is killed with some of them in no checkpoint.
func TestObservationsOfTwoTermsAddUp(t *testing.T) {
	s := newStage(t)
	var progress term.Progress
	var figures term.Figures
	seen := map[string]int{}
	observe := func(cfg *term.Config) {
		plain(cfg)
		cfg.BeaconEvery = step
		cfg.Observe = func(o term.Observation) {
			switch o := o.(type) {
			case term.Progress:
				progress.Done += o.Done
				progress.Repeated += o.Repeated
			case term.Figures:
				figures = o
			case term.MergeDone:
				seen["merge"]++
			case term.CheckpointDone:
				seen["checkpoint"]++
			case term.PhaseDone:
				seen[o.Phase]++
			}
		}
	}
	s.hire("w1")
	s.hire("w2")
	first := s.lead(observe)
	job := s.submit("partitions=64", "pad=10")
	s.until("half of the job is done", func() bool { return progress.Done >= 32 })
	if figures.Workers != 2 || figures.Running != 1 || figures.Desired < 1 || figures.Desired > 2 {
		t.Errorf("during the job: %+v", figures)
	}
	first.kill()
	s.lead(observe)
	s.wantCompleted(job, alone(t, "partitions=64", "pad=10"))
	if progress != (term.Progress{Done: 64}) {
		t.Errorf("the terms tell of %+v, want 64 partitions done", progress)
	}
	for _, what := range []string{"merge", "checkpoint", "fence", "first_assignment"} {
		if seen[what] == 0 {
			t.Errorf("nothing is told of %s", what)
		}
	}
	if seen["fence"] > 2 || seen["first_assignment"] > 2 {
		t.Errorf("a phase is told of more than once a term: %v", seen)
	}
	s.pass(2 * step)
	if figures.Desired != 0 || figures.Running != 0 {
		t.Errorf("after the job: %+v", figures)
	}
}
