package term_test

import (
	"context"
	"testing"
	"time"
)

// TestIdleTimeIsNoStep checks that the time during which a leader has no job does not count as a step of its takeover.
func TestIdleTimeIsNoStep(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	c.lead(plain)
	began := c.now
	c.until("an idle minute", func() bool { return c.now.Sub(began) > time.Minute })
	job := c.submit("partitions=8")
	c.wantCompleted(job, localResult(t, "partitions=8"))
	c.until("the record of the first result", func() bool {
		terms, err := c.store.Terms(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return len(terms) == 1 && terms[0].FirstResult != nil
	})
	terms, _ := c.store.Terms(context.Background())
	if took := *terms[0].FirstAssignment; took > 10*time.Second {
		t.Errorf("the first work took %v, want less than the idle time", took)
	}
}
