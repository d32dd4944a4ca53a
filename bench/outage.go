package bench

import (
	"slices"
	"time"
)

const (
	// window is the width of the windows that throughput is told in, and fine that of
	// the samples of a plot.
	window = 250 * time.Millisecond
	fine   = 50 * time.Millisecond
	// steadyBefore is how long before a failover counts as before it.
	steadyBefore = time.Second
)

// Outage is what one failover did. Shares are of the survivors' steady rate: what
// the cluster comes to a while after, less the process that was hit. So before it,
// where that process had a core of its own, the share is above 1.
type Outage struct {
	Epoch uint64    `json:"epoch"` // of the next leader
	Cause string    `json:"cause"` // as in the history
	At    time.Time `json:"at"`

	// The steps follow one another, as in the history, in milliseconds. Workers hold
	// work ahead: a first assignment of 0 says that none wanted more before the next
	// failover, and a first result of 0 that it came before the assignment.
	Detect          float64 `json:"detect_ms"`
	Elect           float64 `json:"elect_ms"`
	Fence           float64 `json:"fence_ms"`
	Resume          float64 `json:"resume_ms"`
	FirstAssignment float64 `json:"first_assignment_ms"`
	FirstResult     float64 `json:"first_result_ms"`

	// Since the leader was hit, in milliseconds.
	Ready    float64 `json:"until_ready_ms"`    // until the next could give work
	Assigned float64 `json:"until_assigned_ms"` // until it did; 0: it did not

	Before  float64   `json:"before"`  // share in the second before
	After   float64   `json:"after"`   // share in all windows together
	Lowest  float64   `json:"lowest"`  // the smallest of the windows
	Windows []float64 `json:"windows"` // shares in windows of 250 ms after it
	Samples []float64 `json:"samples"` // shares in pieces of 50 ms, the first of them a second before

	// The smallest of as many windows of 250 ms in which nothing happens: how low the
	// machine's noise alone takes Lowest. They are some of the steady time and some of
	// the time before. The process that was hit works in one of these and not in the
	// other, so that each window is told as a share of its own time's mean: from 0 to 1.
	// What drifts from one time to the next is left out: noise can take Lowest further.
	LowestUndisturbed float64 `json:"lowest_undisturbed"`

	// Partitions that the process which was hit had executed and that were executed
	// again, or the other way round; those that others executed twice; and the time
	// that workers spent on both. All are 0 where there are no traces.
	Again    uint64  `json:"executed_again"`
	Repeated uint64  `json:"repeated"`
	Lost     float64 `json:"lost_worker_seconds"`
}

// completed counts the partitions that were completed from one moment to another.
type completed func(from, to time.Time) float64

// newOutage turns what was seen of an outage into figures. Nothing happens for the
// time of calm before it, nor in the steady time after watch.
func newOutage(o outage, done completed, calm, watch, steady time.Duration) Outage {
	t := o.term
	ready := t.At.Add(t.Fence + t.Resume)
	r := Outage{
		Epoch: t.Epoch, Cause: t.Cause, At: o.at.UTC(),
		Detect: millis(t.Detect), Elect: millis(t.Elect), Fence: millis(t.Fence), Resume: millis(t.Resume),
		FirstAssignment: millis(t.FirstAssignment), FirstResult: millis(t.FirstResult),
		Ready: millis(ready.Sub(o.at)), Windows: []float64{}, Samples: []float64{},
	}
	if t.FirstAssignment > 0 {
		r.Assigned = millis(ready.Add(t.FirstAssignment).Sub(o.at))
	}
	settled := o.at.Add(watch)
	rate := done.rate(settled, steady)
	if rate == 0 {
		return r // and no share means anything
	}
	r.Before = done.rate(o.at.Add(-steadyBefore), steadyBefore) / rate
	r.After = done.rate(o.at, watch) / rate
	r.Windows = done.shares(o.at, watch, window, rate)
	r.Lowest = slices.Min(r.Windows)
	r.Samples = done.shares(o.at.Add(-steadyBefore), steadyBefore+watch, fine, rate)

	before := o.at.Add(-calm)
	undisturbed := slices.Concat(
		done.shares(settled, steady, window, rate),
		done.shares(before, calm, window, done.rate(before, calm)),
	)
	r.LowestUndisturbed = slices.Min(undisturbed[:min(len(undisturbed), len(r.Windows))])
	return r
}

// rate is how many partitions were completed per second in a time.
func (done completed) rate(from time.Time, d time.Duration) float64 {
	return done(from, from.Add(d)) / d.Seconds()
}

// shares are the rates in the pieces of a time, as shares of another. All are 0 where
// that is: nothing was completed.
func (done completed) shares(from time.Time, d, piece time.Duration, of float64) []float64 {
	shares := make([]float64, d/piece)
	for i := range shares {
		if of > 0 {
			shares[i] = done.rate(from.Add(time.Duration(i)*piece), piece) / of
		}
	}
	return shares
}

// millis is a duration in milliseconds, to the microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// countOf counts executions, which are in order of time.
func countOf(executions []execution) completed {
	return func(from, to time.Time) float64 { return float64(len(between(executions, from, to))) }
}

// countAgain counts what was executed more than once. What the process that was hit
// had a part in counts for its outage, whenever that came out; the rest counts for the
// outage before it, until it was over: at a job's end workers that are idle run what
// others are slow with.
func countAgain(reports []Outage, outages []outage, executions []execution, over time.Duration, slots int) {
	first := make(map[uint64]int, len(executions)) // by partition, the process
	for _, e := range executions {
		pid, again := first[e.partition]
		if !again {
			first[e.partition] = e.pid
			continue
		}
		if i := lastOutage(outages, e.at, func(o outage) bool { return o.victim == pid || o.victim == e.pid }); i >= 0 {
			reports[i].Again++
			continue
		}
		if i := lastOutage(outages, e.at, func(outage) bool { return true }); i >= 0 && e.at.Before(outages[i].at.Add(over)) {
			reports[i].Repeated++
		}
	}
	for i, o := range outages {
		if before := len(between(executions, o.at.Add(-steadyBefore), o.at)); before > 0 {
			each := float64(slots) * steadyBefore.Seconds() / float64(before)
			reports[i].Lost = float64(reports[i].Again+reports[i].Repeated) * each
		}
	}
}

// lastOutage finds the last of those outages that came before a moment; -1: none did.
func lastOutage(outages []outage, before time.Time, is func(outage) bool) int {
	for i, o := range slices.Backward(outages) {
		if is(o) && !before.Before(o.at) {
			return i
		}
	}
	return -1
}
