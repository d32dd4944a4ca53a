package election

import "time"

// followers is how many processes follow, about.
func (m *Machine) followers() int { return min(max(m.leader.workers-1, 1), maxFollowers) }

// pingInterval is when this follower's next ping is due, from 0.5 to 1.5 times
// the mean, so that pings spread.
func (m *Machine) pingInterval() time.Duration {
	mean := float64(m.followers()) / m.cfg.PingRate * float64(time.Second)
	return max(time.Duration(mean*(0.5+m.cfg.Rand.Float64())), pingGap)
}

// chance is a random duration in [0, d).
func (m *Machine) chance(d time.Duration) time.Duration {
	return time.Duration(m.cfg.Rand.Float64() * float64(d))
}

// backoff grows from 100 ms to maxBackoff with the number of tries that failed.
func backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(50*time.Millisecond<<min(failures, 10), maxBackoff)
}
