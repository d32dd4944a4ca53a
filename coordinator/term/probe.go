package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// confirmAfter is the time after which a second probe confirms that an absent worker is dead. It is
// longer than a worker needs to connect to another NATS server.
const confirmAfter = 750 * time.Millisecond

// probe asks a worker for a sign of life. During recovery one probe is enough, because a wrong
// result only ends the wait for the worker's first report.
func (t *Term) probe(p ledger.Probe) {
	once := !t.ledger.Recovered()
	t.spawn(func() func() {
		sign := t.transport.Probe(t.ctx, p.Worker, p.Server)
		if sign == Absent && !once {
			t.env.Pause(t.ctx, confirmAfter)
			sign = t.transport.Probe(t.ctx, p.Worker, p.Server)
		}
		return func() {
			if sign != Possible {
				t.step(ledger.WorkerDied{Worker: p.Worker})
			}
		}
	})
}
