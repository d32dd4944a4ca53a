package ledger

import "time"

// rootKey returns the key under which the worker that calls Finish keeps the root for later jobs, and the time for
// which Map has run for the root. The key contains the build of the worker that planned the job, so rootKey returns no
// key if another build has computed a part of the root.
func (j *job) rootKey() (key []byte, work time.Duration) {
	r := j.reused
	if r == nil || len(j.builds.list) != 1 || j.builds.list[0] != r.Build {
		return nil, 0
	}
	computed := j.tree.Partitions() - min(j.tree.Partitions(), r.Partitions)
	return r.Root, r.Work + time.Duration(computed)*j.partitionTime()
}
