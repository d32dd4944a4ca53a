package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// confirmAfter is the time after which a second probe confirms that a worker is dead. confirmAfter
// is longer than a worker needs to connect to another NATS server.
const confirmAfter = 750 * time.Millisecond

// probe asks a worker for a sign of life. During recovery one probe is enough, because a wrong
// result only ends the wait for the worker's first report.
func (t *Term) probe(worker string) {
	once := !t.ledger.Recovered()
	t.spawn(func() func() {
		dead := t.transport.Probe(t.ctx, worker)
		if dead && !once {
			t.env.Pause(t.ctx, confirmAfter)
			dead = t.transport.Probe(t.ctx, worker)
		}
		return func() {
			if dead {
				t.step(ledger.WorkerDied{Worker: worker})
			}
		}
	})
}
