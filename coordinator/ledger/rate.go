package ledger

import (
	"math"
	"time"
)

const (
	// Once a rate covers more than rateWindow slot-seconds and more than rateCount partitions,
	// older measurements lose weight. The bound rateCount ensures that a rate covers several
	// partitions even if each partition takes long.
	rateWindow = 10.0
	rateCount  = 8.0
	// minDisplayed is the lowest rate that is displayed, in partitions per second. While no
	// partition is finished, the moving average of the rate falls towards 0 and becomes
	// meaningless.
	minDisplayed = 0.001
)

// rate estimates how many partitions per second one slot finishes.
type rate struct {
	partitions  float64
	slotSeconds float64
}

func (r *rate) add(partitions, slotSeconds float64) {
	r.partitions += partitions
	r.slotSeconds += slotSeconds
	for r.slotSeconds > rateWindow && r.partitions > rateCount {
		r.partitions /= 2
		r.slotSeconds /= 2
	}
}

// single returns the same estimate with the weight of one partition, so that the next measurement replaces it.
func (r rate) single() rate {
	if r.partitions == 0 {
		return rate{}
	}
	return rate{1, r.slotSeconds / r.partitions}
}

// perSecond returns the estimate in partitions per second, or 0 before the first measurement.
func (r rate) perSecond() float64 {
	if r.slotSeconds == 0 {
		return 0
	}
	return r.partitions / r.slotSeconds
}

// rateDisplay is a rate of a job for display, such as finished partitions per second, as a moving
// average over some seconds.
type rateDisplay struct {
	perSecond  float64
	measuredAt time.Duration
	done       uint64 // number of finished partitions or merged bytes at the last measurement
}

// update makes a new measurement if the last measurement is at least half a second old.
func (d *rateDisplay) update(now time.Duration, done uint64) {
	elapsed := (now - d.measuredAt).Seconds()
	if elapsed < 0.5 {
		return
	}
	current := float64(done-min(done, d.done)) / elapsed
	weight := min(1, elapsed/3)
	if d.perSecond == 0 {
		weight = 1
	}
	if d.perSecond += weight * (current - d.perSecond); d.perSecond < minDisplayed {
		d.perSecond = 0
	}
	d.measuredAt, d.done = now, done
}

// duration converts seconds to a Duration of at most a year.
func duration(seconds float64) time.Duration {
	const year = 365 * 24 * 3600
	if math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(seconds, year) * float64(time.Second))
}
