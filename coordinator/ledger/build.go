package ledger

import (
	"fmt"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// maxBuilds is the maximum number of builds in a job's manifest.
const maxBuilds = 16

// builds lists the builds of the workers of a job. Partials that were computed by different builds
// may differ in the last bits of floats. A job with Spec.StrictBuilds is pinned to one build, and
// workers with other builds get no work of the job. The pinned build is durable before any work is
// assigned, so that all leaders use the same build.
type builds struct {
	list     []string // builds of the workers that computed partials, sorted, at most maxBuilds; for a pinned job only the pinned build
	pinnedBy uint64   // number of the checkpoint that makes the pinned build durable; 0 if the manifest already contained the build
}

// add records the build of a worker that computed a partial.
func (b *builds) add(build string) {
	if i, found := slices.BinarySearch(b.list, build); !found && len(b.list) < maxBuilds {
		b.list = slices.Insert(b.list, i, build)
	}
}

// pin pins a job to the build that the most slots run, among the workers that know the job. A build
// whose description is incomplete is not chosen, because two different programs may have the same
// incomplete description.
func (l *Ledger) pin(j *job) {
	if !j.spec.StrictBuilds || len(j.builds.list) > 0 || j.ending() {
		return
	}
	slots := map[string]int{}
	best := ""
	for _, w := range l.workers { // workers are sorted, so in case of a tie the choice is deterministic
		if b := w.build(); !w.draining && w.knowsKind(j) && wire.KnownBuild(b) {
			if slots[b] += w.slots; best == "" || slots[b] > slots[best] {
				best = b
			}
		}
	}
	if best != "" {
		j.builds.list, j.builds.pinnedBy = []string{best}, j.checkpoint.request()
		l.log(j.spec.ID, "", "Job is pinned to workers of the build %s", best)
	}
}

// admits reports whether a program with the given build may compute parts of a job.
func (j *job) admits(build string) bool {
	return !j.spec.StrictBuilds ||
		len(j.builds.list) > 0 && j.builds.list[0] == build && j.checkpoint.durable >= j.builds.pinnedBy
}

// missingBuild describes the build that a pinned job waits for, or returns "" if the job does not
// wait for a build.
func (l *Ledger) missingBuild(j *job) string {
	switch {
	case !j.spec.StrictBuilds:
		return ""
	case len(j.builds.list) == 0:
		return "no worker that knows the job says how it was compiled, which strict builds need: " +
			"build workers with the go command"
	case !slices.ContainsFunc(l.workers, func(w *worker) bool { return w.knowsKind(j) && w.build() == j.builds.list[0] }):
		return fmt.Sprintf("the job is restricted to the build %s, which no worker has: start such workers, or cancel the job and submit it again", j.builds.list[0])
	}
	return ""
}
