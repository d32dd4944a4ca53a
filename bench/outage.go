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

	// The steps follow one another, as in the history, in milliseconds. What did not
	// happen before the next failover, or is not known, is left out: a leader that hands
	// over is not believed dead, and since workers hold work ahead, it may be that none
	// wanted more.
	Detect          *float64 `json:"detect_ms,omitempty"`
	Elect           float64  `json:"elect_ms"`
	Fence           float64  `json:"fence_ms"`
	Resume          float64  `json:"resume_ms"`
	FirstAssignment *float64 `json:"first_assignment_ms,omitempty"`
	FirstResult     *float64 `json:"first_result_ms,omitempty"` // 0: no later than the first assignment

	// Since the leader was hit, in milliseconds.
	Ready    float64  `json:"until_ready_ms"`              // until the next could give work
	Assigned *float64 `json:"until_assigned_ms,omitempty"` // until it did

	*Shares
	*Repeats
}

// Shares are the throughput of one failover, as shares of the survivors' steady rate.
// There are none where nothing was completed in the steady time, and where the leader
// of a running cluster heard of results too rarely: of fewer than one in each window.
type Shares struct {
	Before  float64   `json:"before"`  // in the second before
	After   float64   `json:"after"`   // in all windows together
	Lowest  float64   `json:"lowest"`  // the smallest of the windows
	Windows []float64 `json:"windows"` // of 250 ms each, after it
	Samples []float64 `json:"samples"` // in pieces of 50 ms, the first of them a second before

	// The smallest of as many windows of 250 ms in which nothing happens: how low the
	// machine's noise alone takes Lowest. They are some of the steady time and some of
	// the time before. The process that was hit works in one of these and not in the
	// other, so that each window is told as a share of its own time's mean: from 0 to 1.
	// What drifts from one time to the next is left out: noise can take Lowest further.
	LowestUndisturbed float64 `json:"lowest_undisturbed"`
}

// Repeats are what was executed more than once for one failover. It is not known where
// there are no traces.
type Repeats struct {
	// Partitions that the process which was hit had executed and that were executed
	// again, or the other way round; and those that others executed twice.
	Again  uint64 `json:"executed_again"`
	Others uint64 `json:"repeated"`

	// Lost is the time that workers spent on both, by their speed in the second before;
	// not known where no partition ended in that.
	Lost *float64 `json:"lost_worker_seconds,omitempty"`
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
		Elect: millis(t.Elect), Fence: millis(t.Fence), Resume: millis(t.Resume),
		Ready: millis(ready.Sub(o.at)), Shares: newShares(o.at, done, calm, watch, steady),
	}
	if t.Detect > 0 {
		r.Detect = new(millis(t.Detect))
	}
	if t.FirstAssignment == nil {
		return r
	}
	r.FirstAssignment = new(millis(*t.FirstAssignment))
	r.Assigned = new(millis(ready.Add(*t.FirstAssignment).Sub(o.at)))
	if t.FirstResult != nil {
		r.FirstResult = new(millis(*t.FirstResult))
	}
	return r
}

func newShares(hit time.Time, done completed, calm, watch, steady time.Duration) *Shares {
	settled, before := hit.Add(watch), hit.Add(-calm)
	rate := done.rate(settled, steady)
	if rate == 0 {
		return nil
	}
	r := &Shares{
		Before:  done.rate(hit.Add(-steadyBefore), steadyBefore) / rate,
		After:   done.rate(hit, watch) / rate,
		Windows: done.shares(hit, watch, window, rate),
		Samples: done.shares(hit.Add(-steadyBefore), steadyBefore+watch, fine, rate),
	}
	r.Lowest = slices.Min(r.Windows)
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
func countAgain(outages []outage, executions []execution, over time.Duration, slots int) []*Repeats {
	counts := make([]*Repeats, len(outages))
	for i := range counts {
		counts[i] = &Repeats{}
	}
	first := make(map[uint64]int, len(executions)) // by partition, the process
	for _, e := range executions {
		pid, again := first[e.partition]
		if !again {
			first[e.partition] = e.pid
			continue
		}
		if i := lastOutage(outages, e.at, func(o outage) bool { return o.victim == pid || o.victim == e.pid }); i >= 0 {
			counts[i].Again++
			continue
		}
		if i := lastOutage(outages, e.at, func(outage) bool { return true }); i >= 0 && e.at.Before(outages[i].at.Add(over)) {
			counts[i].Others++
		}
	}
	for i, o := range outages {
		if before := len(between(executions, o.at.Add(-steadyBefore), o.at)); before > 0 {
			each := float64(slots) * steadyBefore.Seconds() / float64(before)
			counts[i].Lost = new(float64(counts[i].Again+counts[i].Others) * each)
		}
	}
	return counts
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
