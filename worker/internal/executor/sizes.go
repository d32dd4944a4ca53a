package executor

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// maxSizes is the number of recent jobs whose partial size is kept.
const maxSizes = 64

// sizes remembers the partial sizes of recent jobs, so that the first partition of a similar job can
// use pooled memory. The zero value is empty.
type sizes struct {
	mu   sync.Mutex
	list []sizeOf // oldest first
}

type sizeOf struct {
	work  workID
	bytes int64
}

// workID identifies jobs whose partials probably have the same size: jobs of the same definition
// with the same parameters. Jobs with other parameters are not included, because a Fill that expects
// all spare values to be of the right length would then compute a wrong value.
type workID struct {
	kind   wire.JobKind
	params [sha256.Size]byte
}

func newWorkID(kind wire.JobKind, params jobs.Params) workID {
	return workID{kind, sha256.Sum256(params)}
}

// put stores the size in bytes of the largest partial of a job.
func (s *sizes) put(work workID, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(old sizeOf) bool { return old.work == work })
	if len(s.list) == maxSizes {
		s.list = slices.Delete(s.list, 0, 1)
	}
	s.list = append(s.list, sizeOf{work, bytes})
}

// get returns the size in bytes of the largest partial of the last such job, or 0 if it is unknown.
func (s *sizes) get(work workID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(old sizeOf) bool { return old.work == work })
	if i < 0 {
		return 0
	}
	return s.list[i].bytes
}
