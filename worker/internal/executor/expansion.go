package executor

import "sync"

// expansions remembers for each job by which factor partials grow when they are decoded. The factor
// is above 1 for compressed partials. The zero value is empty.
type expansions struct {
	mu      sync.Mutex
	factors map[string]float64 // largest factor so far, by job
}

// note records the sizes in bytes of a partial of a job.
func (e *expansions) note(job string, encoded int, decoded uint64) {
	if decoded <= uint64(encoded) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.factors == nil {
		e.factors = map[string]float64{}
	}
	e.factors[job] = max(e.factors[job], float64(decoded)/float64(encoded))
}

// decoded estimates the size in bytes of a decoded partial.
func (e *expansions) decoded(job string, encoded uint64) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return uint64(min(max(1, e.factors[job])*float64(encoded), 1<<62))
}

// drop forgets a job.
func (e *expansions) drop(job string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.factors, job)
}
