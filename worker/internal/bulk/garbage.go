package bulk

import (
	"runtime"
	"sync"
	"time"
)

// collectEvery is the number of received bytes after which the garbage collector runs. The NATS
// client allocates new memory for each message. By default, the garbage collector waits until the
// heap has doubled, and held partials may take gigabytes: the messages would take as much memory
// again, and the first write to new memory is slower than the transfer.
const collectEvery = 64 << 20

// garbage counts the bytes of the messages that this process has received.
var garbage collector

// collector runs the garbage collector after each collectEvery received bytes, for at most a fifth
// of the time: the heap of a job may take long to scan.
type collector struct {
	mu      sync.Mutex
	bytes   int
	running bool
	ended   time.Time
	took    time.Duration
}

// add counts n received bytes, and runs the garbage collector if it is due.
func (c *collector) add(n int) {
	if c.due(n) {
		began := time.Now()
		runtime.GC()
		c.collected(began)
	}
}

func (c *collector) due(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += n; c.bytes < collectEvery || c.running || time.Since(c.ended) < 4*c.took {
		return false
	}
	c.bytes, c.running = 0, true
	return true
}

func (c *collector) collected(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.ended = false, time.Now()
	c.took = c.ended.Sub(began)
}
