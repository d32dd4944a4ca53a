package progress

import "time"

// Speedometer measures the rate at which a count grows.
type Speedometer struct {
	at   time.Time
	done uint64
	rate float64
}

// memory is approximately how long the measured rate takes to follow a change of speed.
const memory = 5 * time.Second

func (m *Speedometer) Observe(now time.Time, done uint64) float64 {
	if m.at.IsZero() {
		m.at, m.done = now, done
		return 0
	}
	elapsed := now.Sub(m.at)
	if elapsed < 200*time.Millisecond || done < m.done {
		return m.rate
	}
	current := float64(done-m.done) / elapsed.Seconds()
	if m.rate == 0 {
		m.rate = current
	} else {
		weight := min(1, elapsed.Seconds()/memory.Seconds())
		m.rate += weight * (current - m.rate)
	}
	m.at, m.done = now, done
	return m.rate
}
