package ledger

import (
	"math"
	"time"
)

const (
	// paceWindow, in slot-seconds, and paceCount, in partitions, are how much an
	// estimate of speed rests on before older measurements begin to fade. Both must
	// be reached, so that it rests on several partitions where each takes long.
	paceWindow = 10.0
	paceCount  = 8.0
)

// pace estimates how many partitions per second one slot finishes.
type pace struct {
	done float64 // partitions
	busy float64 // slot-seconds
}

// add takes a measurement into account.
func (p *pace) add(done, busy float64) {
	p.done += done
	p.busy += busy
	for p.busy > paceWindow && p.done > paceCount {
		p.done /= 2
		p.busy /= 2
	}
}

// speed is the estimate in partitions per second, or 0 where there is none yet.
func (p pace) speed() float64 {
	if p.busy == 0 {
		return 0
	}
	return p.done / p.busy
}

// duration is a number of seconds as a Duration, at most a year.
func duration(seconds float64) time.Duration {
	const year = 365 * 24 * 3600
	if math.IsNaN(seconds) {
		return 0
	}
	return time.Duration(min(seconds, year) * float64(time.Second))
}
