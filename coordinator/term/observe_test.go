package term_test

import (
	"testing"

	"github.com/bellwether-compute/bellwether/coordinator/term"
)

// The progress that two terms observe counts each partition once, although the first leader is
// killed when some partitions are in no checkpoint.
func TestObservationsOfTwoTermsAddUp(t *testing.T) {
	c := newCluster(t)
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
	c.addWorker("w1")
	c.addWorker("w2")
	first := c.lead(observe)
	job := c.submit("partitions=64", "pad=10")
	c.until("half of the job is done", func() bool { return progress.Done >= 32 })
	if figures.Workers != 2 || figures.Running != 1 || figures.Desired < 1 || figures.Desired > 2 {
		t.Errorf("during the job: %+v", figures)
	}
	first.kill()
	c.lead(observe)
	c.wantCompleted(job, localResult(t, "partitions=64", "pad=10"))
	if progress != (term.Progress{Done: 64}) {
		t.Errorf("the terms observed %+v, want 64 partitions done", progress)
	}
	for _, what := range []string{"merge", "checkpoint", "fence", "first_assignment"} {
		if seen[what] == 0 {
			t.Errorf("%s was not observed", what)
		}
	}
	if seen["fence"] > 2 || seen["first_assignment"] > 2 {
		t.Errorf("a phase was observed more than once in a term: %v", seen)
	}
	c.pass(2 * step)
	if figures.Desired != 0 || figures.Running != 0 {
		t.Errorf("after the job: %+v", figures)
	}
}
