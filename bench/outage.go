package bench

import (
	"slices"
	"time"
)

const (
	// window is the duration of a throughput window, and fine is the duration of a throughput sample in a
	// chart.
	window = 250 * time.Millisecond
	fine   = 50 * time.Millisecond
	// steadyBefore is the length of the interval before a failover whose throughput is compared
	// with the throughput after the failover.
	steadyBefore = time.Second
)

// Outage describes one failover. Throughput is relative to the steady rate of the survivors,
// measured after the time Watch has passed since the failure. The share before the failover is
// above 1 if the lost process did not share its core with the survivors.
type Outage struct {
	Epoch uint64    `json:"epoch"` // epoch of the next leader
	Cause string    `json:"cause"` // reason why the leader changed, as in the cluster's history
	At    time.Time `json:"at"`

	// The fields from Detect to FirstResult are the durations of the steps of the failover in
	// milliseconds. The durations come from the cluster's history and are in the order of the
	// steps. A step is omitted if its duration is unknown, or if the step did not happen before the
	// next failover. For example, a leader that hands over is never detected as dead, and workers
	// that hold enough work do not request more.
	Detect          *float64 `json:"detect_ms,omitempty"`
	Elect           float64  `json:"elect_ms"`
	Fence           float64  `json:"fence_ms"`
	Resume          float64  `json:"resume_ms"`
	FirstAssignment *float64 `json:"first_assignment_ms,omitempty"`
	FirstResult     *float64 `json:"first_result_ms,omitempty"` // 0 if the first result arrived no later than the first assignment

	// The fields Ready and Assigned are in milliseconds since the loss of the leader.
	Ready    float64  `json:"until_ready_ms"`              // time from the loss of the leader until the next leader could assign work
	Assigned *float64 `json:"until_assigned_ms,omitempty"` // time from the loss of the leader until the next leader assigned work

	*Shares
	*Repeats
}

// Shares describes the throughput during one failover, as shares of the survivors' steady rate.
// Shares is omitted if no partition was completed during the steady time. Shares is also omitted if
// the cluster has no traces and the leader received results less than once per window.
type Shares struct {
	Before  float64   `json:"before"`  // throughput in the second before the loss of the leader
	After   float64   `json:"after"`   // throughput in all windows together
	Lowest  float64   `json:"lowest"`  // throughput in the slowest window
	Windows []float64 `json:"windows"` // throughput in windows of 250 ms after the loss of the leader
	Samples []float64 `json:"samples"` // throughput in samples of 50 ms, beginning one second before the loss of the leader

	// LowestUndisturbed is the throughput in the slowest of equally many windows without a
	// failover. LowestUndisturbed shows how much of Lowest is noise of the machine. The windows
	// without a failover are before the failover and in the steady time after the failover. The
	// lost process works only before the failover, so each window is compared with the mean of the
	// windows on its side of the failover. LowestUndisturbed therefore does not show slow changes
	// of the machine's speed, but Lowest may show them.
	LowestUndisturbed float64 `json:"lowest_undisturbed"`
}

// Repeats counts the repeated executions that are attributed to one failover. Repeats is omitted if
// the cluster has no traces.
type Repeats struct {
	// Again is the number of partitions that both the lost process and another process executed.
	// Others is the number of partitions that surviving processes executed twice.
	Again  uint64 `json:"executed_again"`
	Others uint64 `json:"repeated"`

	// Lost is the time that workers spent on repeated executions, computed from the workers' speed
	// in the second before the failover. Lost is nil if no partition ended in that second.
	Lost *float64 `json:"lost_worker_seconds,omitempty"`
}

// completed is the type of functions that return how many partitions were completed between two moments.
type completed func(from, to time.Time) float64

// newOutage computes the figures of a failover from the time calm before it, watch after it, and steady after
// watch. No other failover affects these times.
func newOutage(f takeover, done completed, calm, watch, steady time.Duration) Outage {
	t := f.term
	ready := t.At.Add(t.Fence + t.Resume)
	r := Outage{
		Epoch: t.Epoch, Cause: t.Cause, At: f.at.UTC(),
		Elect: millis(t.Elect), Fence: millis(t.Fence), Resume: millis(t.Resume),
		Ready: millis(ready.Sub(f.at)), Shares: newShares(f.at, done, calm, watch, steady),
	}
	if t.Detect > 0 {
		r.Detect = new(millis(t.Detect))
	}
	if t.FirstAssignment == nil {
		return r
	}
	r.FirstAssignment = new(millis(*t.FirstAssignment))
	r.Assigned = new(millis(ready.Add(*t.FirstAssignment).Sub(f.at)))
	if t.FirstResult != nil {
		r.FirstResult = new(millis(*t.FirstResult))
	}
	return r
}

func newShares(lost time.Time, done completed, calm, watch, steady time.Duration) *Shares {
	settled, before := lost.Add(watch), lost.Add(-calm)
	rate := done.rate(settled, steady)
	if rate == 0 {
		return nil
	}
	r := &Shares{
		Before:  done.rate(lost.Add(-steadyBefore), steadyBefore) / rate,
		After:   done.rate(lost, watch) / rate,
		Windows: done.shares(lost, watch, window, rate),
		Samples: done.shares(lost.Add(-steadyBefore), steadyBefore+watch, fine, rate),
	}
	r.Lowest = slices.Min(r.Windows)
	undisturbed := slices.Concat(
		done.shares(settled, steady, window, rate),
		done.shares(before, calm, window, done.rate(before, calm)),
	)
	r.LowestUndisturbed = slices.Min(undisturbed[:min(len(undisturbed), len(r.Windows))])
	return r
}

func (done completed) rate(from time.Time, d time.Duration) float64 {
	return done(from, from.Add(d)) / d.Seconds()
}

// shares returns the rate of each piece of an interval as a share of a reference rate, or 0 if that is 0.
func (done completed) shares(from time.Time, d, piece time.Duration, of float64) []float64 {
	shares := make([]float64, d/piece)
	for i := range shares {
		if of > 0 {
			shares[i] = done.rate(from.Add(time.Duration(i)*piece), piece) / of
		}
	}
	return shares
}

// millis returns d in milliseconds, with a precision of a microsecond.
func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// countOf counts executions, which must be sorted by time.
func countOf(executions []execution) completed {
	return func(from, to time.Time) float64 { return float64(len(between(executions, from, to))) }
}

// countRepeats counts the partitions that were executed more than once. An execution by a lost
// process counts for the failover of that process, no matter when another process repeats it. Any
// other repeated execution counts for the last failover before the execution, if that failover was
// not yet over. Repeated executions after the end of a failover do not count: near the end of a
// job, idle workers run speculative copies of slow partitions.
func countRepeats(takeovers []takeover, executions []execution, over time.Duration, slots int) []*Repeats {
	counts := make([]*Repeats, len(takeovers))
	for i := range counts {
		counts[i] = &Repeats{}
	}
	first := make(map[uint64]int, len(executions)) // ID of the first process that executed each partition
	for _, e := range executions {
		pid, again := first[e.partition]
		if !again {
			first[e.partition] = e.pid
			continue
		}
		if i := lastTakeover(takeovers, e.at, func(f takeover) bool { return f.victim == pid || f.victim == e.pid }); i >= 0 {
			counts[i].Again++
			continue
		}
		if i := lastTakeover(takeovers, e.at, func(takeover) bool { return true }); i >= 0 && e.at.Before(takeovers[i].at.Add(over)) {
			counts[i].Others++
		}
	}
	for i, f := range takeovers {
		if before := len(between(executions, f.at.Add(-steadyBefore), f.at)); before > 0 {
			each := float64(slots) * steadyBefore.Seconds() / float64(before)
			counts[i].Lost = new(float64(counts[i].Again+counts[i].Others) * each)
		}
	}
	return counts
}

// lastTakeover returns the index of the last matching takeover before a moment, or -1.
func lastTakeover(takeovers []takeover, before time.Time, match func(takeover) bool) int {
	for i, f := range slices.Backward(takeovers) {
		if match(f) && !before.Before(f.at) {
			return i
		}
	}
	return -1
}
