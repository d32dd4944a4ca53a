package term_test

import (
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// A leader announces each end of a job once, whether a worker has begun the job or not.
func TestEndsAreAnnounced(t *testing.T) {
	c := newCluster(t)
	c.addWorker("w1")
	l := c.lead(two)
	ids := []string{c.submit("partitions=20"), c.submit("partitions=20"), c.submit("partitions=20")}
	c.allReceived(l)
	active := l.active()
	if len(c.announced) > 0 || len(active) != 2 {
		t.Fatalf("announced %v; active %v, want two jobs", c.announced, active)
	}
	waiting := ids[slices.IndexFunc(ids, func(id string) bool { return !slices.Contains(active, id) })]
	for _, id := range []string{waiting, active[1]} {
		l.turn(func() { l.term.Cancel(id, func(error) {}) })
	}
	c.until("the ends", c.cleanedUp)
	slices.Sort(c.announced)
	slices.Sort(ids)
	if !slices.Equal(c.announced, ids) {
		t.Errorf("announced %v, want each of %v once", c.announced, ids)
	}
	for id, want := range map[string]store.State{waiting: store.Cancelled, active[0]: store.Completed, active[1]: store.Cancelled} {
		if m := c.manifest(id); m.State != want {
			t.Errorf("job %s is %s, want %s", id, m.State, want)
		}
	}
}
