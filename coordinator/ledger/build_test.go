package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Strict jobs run only on workers of one build, beside jobs that run on all workers. No worker is
// idle because of jobs for other builds.
func TestStrictBuildsInAFleet(t *testing.T) {
	f := newFleet(t, 20, 2, 100)
	for i, w := range f.workers {
		w.build = "amd64/v1"
		if i%3 == 2 {
			w.build = "amd64/v3"
		}
	}
	for i := range 3 {
		f.addSpec(store.Spec{ID: fmt.Sprint("strict", i), StrictBuilds: true}, 5_000)
		f.add(fmt.Sprint("free", i), 5_000)
	}
	if !f.run(time.Minute) { // all slots together take 7.5 s
		t.Fatal("the jobs have not ended")
	}
	for _, w := range f.workers {
		strict, free := uint64(0), uint64(0)
		for i := range 3 {
			strict += w.items[fmt.Sprint("strict", i)]
			free += w.items[fmt.Sprint("free", i)]
		}
		if (strict > 0) != (w.build == "amd64/v1") || free == 0 {
			t.Errorf("worker %s of build %s reported %d items of strict jobs and %d of others", w.id, w.build, strict, free)
		}
	}
	if f.now > 15*time.Second {
		t.Errorf("the jobs took %v of the fleet's time, want less than twice the time of busy slots", f.now)
	}
}
