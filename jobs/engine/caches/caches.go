// Package caches bounds the memory of what jobs with rounds keep between rounds. Users of the SDK need only
// jobs.NewCache, which keeps the values; this package counts their sizes.
//
//	worker, jobs.Local          Memory     limit, values of all jobs
//	                               ▲
//	open job with rounds         Job       its rounds, and what did not fit
//	                               ▲
//	jobs.Cache                   Value     size, and a function that drops it
//
// A job reads its partitions in a cycle, so the value that was used last is the one that is needed last. To drop
// the oldest value for a new one, as a cache usually does, would drop each value shortly before its use. A Memory
// therefore keeps what it has, and refuses what does not fit. It drops values in two cases. A value that no
// partition of the last finished round has used probably belongs to a partition that runs on another worker now; all
// such values are dropped when memory is short. When the limit falls, the values that were added last are dropped.
package caches

import (
	"context"
	"sync"
)

// Memory is the memory of a process that caches may use.
type Memory struct {
	mu     sync.Mutex
	limit  int64
	used   int64
	values []*Value // from the oldest to the newest
	begun  uint64   // number of rounds of all jobs that have begun
	swept  uint64   // value of begun when unused values were last dropped
}

// New returns memory of a number of bytes.
func New(limit int64) *Memory { return &Memory{limit: max(0, limit)} }

// Share returns the part of a process's memory that caches may use. The rest is for what the code of jobs allocates while
// it runs, and for the Go runtime, which needs more time as the memory in use comes close to its limit.
func Share(memory int64) int64 { return memory / 4 * 3 }

// MemoryFor returns the memory of which [Share] is a number of bytes.
func MemoryFor(share int64) int64 { return (share + 2) / 3 * 4 }

// SetLimit changes the number of bytes that caches may use, and drops values that do not fit.
func (m *Memory) SetLimit(limit int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = max(0, limit)
	if m.used > m.limit {
		m.dropUnused()
	}
	for n := len(m.values); m.used > m.limit; n = len(m.values) {
		last := m.values[n-1]
		m.values[n-1] = nil
		m.values = m.values[:n-1]
		m.remove(last)
	}
}

// Used returns the number of bytes of all values.
func (m *Memory) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}

// dropUnused drops the values that no partition of the last finished round of their job has used.
func (m *Memory) dropUnused() {
	if m.swept == m.begun {
		return
	}
	m.swept = m.begun
	m.drop(func(v *Value) bool { return v.round+1 < v.job.round })
}

// drop drops some of the values.
func (m *Memory) drop(which func(*Value) bool) {
	kept := m.values[:0]
	for _, v := range m.values {
		if which(v) {
			m.remove(v)
		} else {
			kept = append(kept, v)
		}
	}
	clear(m.values[len(kept):])
	m.values = kept
}

// remove frees a value that is no longer in the list.
func (m *Memory) remove(v *Value) {
	m.used -= v.bytes
	v.drop()
}

// Value is a value of a cache.
type Value struct {
	job   *Job
	bytes int64
	drop  func()
	round uint64 // the last round that has used the value
}

// Job is the part of a Memory that an open job uses.
type Job struct {
	memory *Memory

	// The fields below are guarded by memory.mu.
	round   uint64
	read    int64 // bytes of the values that the partitions of this round have used
	refused int64 // bytes of the values of this round that did not fit
	told    bool  // Short was returned
	closed  bool
}

// Job returns the part of a job that was opened.
func (m *Memory) Job() *Job { return &Job{memory: m} }

// Short describes values that did not fit, in bytes.
type Short struct {
	Read    int64 // all values of a round on this worker
	Refused int64 // values of the round that did not fit
}

// Begin begins a round. It returns true at the first round after one whose values did not fit.
func (j *Job) Begin() (s Short, short bool) {
	m := j.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	s = Short{j.read, j.refused}
	m.begun++
	j.round++
	j.read, j.refused = 0, 0
	short = s.Refused > 0 && !j.told
	j.told = j.told || short
	return s, short
}

// Add counts a new value of a number of bytes. It returns nil if the value does not fit. The function drop is called
// when the value must no longer be kept. It must not block and must not call this package.
func (j *Job) Add(bytes int64, drop func()) *Value {
	m := j.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	j.read += bytes
	if m.used+bytes > m.limit {
		m.dropUnused()
	}
	if j.closed || m.used+bytes > m.limit {
		j.refused += bytes
		return nil
	}
	v := &Value{job: j, bytes: bytes, drop: drop, round: j.round}
	m.values = append(m.values, v)
	m.used += bytes
	return v
}

// Use notes that a partition uses a value. The value may have been dropped.
func (j *Job) Use(v *Value) {
	j.memory.mu.Lock()
	defer j.memory.mu.Unlock()
	if v.round != j.round {
		v.round = j.round
		j.read += v.bytes
	}
}

// Close drops all values of the job. Later values are refused.
func (j *Job) Close() {
	m := j.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	j.closed = true
	m.drop(func(v *Value) bool { return v.job == j })
}

type memoryKey struct{}

// With returns a context with which jobs are opened whose caches use a memory.
func With(ctx context.Context, m *Memory) context.Context {
	return context.WithValue(ctx, memoryKey{}, m)
}

// Of returns the memory of a context. Without one, caches keep nothing.
func Of(ctx context.Context) *Memory {
	if m, ok := ctx.Value(memoryKey{}).(*Memory); ok {
		return m
	}
	return New(0)
}
