package machine

import "time"

// followers estimates how many processes follow the leader.
func (m *Machine) followers() int { return min(max(m.leader.workers-1, 1), maxFollowers) }

// pingInterval returns the time until this follower's next ping. The ping interval is random, 0.5
// to 1.5 times the mean, so that the followers' pings are spread over time.
func (m *Machine) pingInterval() time.Duration {
	mean := float64(m.followers()) / m.cfg.PingRate * float64(time.Second)
	return max(time.Duration(mean*(0.5+m.cfg.Rand.Float64())), pingGap)
}

// random returns a random duration in [0, d).
func (m *Machine) random(d time.Duration) time.Duration {
	return time.Duration(m.cfg.Rand.Float64() * float64(d))
}

// backoff returns how long to wait after a number of consecutive failures: 100 ms after the first
// failure, and twice as long after each further failure, up to maxBackoff.
func backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(50*time.Millisecond<<min(failures, 10), maxBackoff)
}
