package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// confirmAfter is the wait before a second probe confirms that a worker is dead. It is
// longer than a worker takes to connect to another NATS server.
const confirmAfter = 750 * time.Millisecond

// probe asks a worker for a sign of life. During recovery one probe is enough: if the
// worker seems dead, the leader only stops waiting for the worker's first report.
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
