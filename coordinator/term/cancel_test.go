package term_test

import (
	"fmt"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// A job is cancelled at each point of a slow storage call. The job is then cancelled or has ended,
// the answer says which, and no records of the job remain.
func TestCancelAtEveryMoment(t *testing.T) {
	for _, params := range [][]string{
		{"partitions=12", "pad=3_000"},
		{"partitions=5", "pad=66_000"},
	} {
		c := newCluster(t)
		c.hold = func(int) func() bool { return nil }
		c.run(params, func() bool { return false })
		cancelled := 0
		for moment := 1; moment <= c.moments; moment++ {
			t.Run(fmt.Sprintf("%v/%d", params, moment), func(t *testing.T) {
				c := newCluster(t)
				held, over := c.holdAt(moment)
				job := c.run(params, func() bool { return *held })
				if !*held {
					t.Fatal("the moment did not come")
				}
				leader := c.leaders[0]
				var answers []error
				leader.turn(func() { leader.term.Cancel(job, func(err error) { answers = append(answers, err) }) })
				c.pass(10 * step)
				*over = true
				c.until("the job's end", func() bool { return len(answers) > 0 && c.manifest(job).State.Final() && c.cleanedUp() })
				switch state := c.manifest(job).State; {
				case len(answers) > 1:
					t.Errorf("%d answers: %v", len(answers), answers)
				case state == store.Cancelled && answers[0] == nil:
					cancelled++
				case state != store.Completed || answers[0] == nil:
					t.Errorf("job is %s, answer %v", state, answers[0])
				}
				c.until("no partials", func() bool { return len(c.partials()) == 0 })
				if leader.over {
					t.Error("the leader ended")
				}
			})
		}
		if cancelled < c.moments/2 {
			t.Errorf("the job was cancelled at %d of %d moments", cancelled, c.moments)
		}
	}
}
