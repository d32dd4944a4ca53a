package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// confirmAfter is how long after a probe found a worker dead a second probe is sent
// to confirm it. It is longer than a worker takes to connect to another NATS server.
const confirmAfter = 750 * time.Millisecond

// probe asks a worker for a sign of life. During recovery one probe is enough: the
// leader has not heard of the worker yet and only stops waiting for it.
func (t *Term) probe(worker string) {
	once := !t.ledger.Recovered()
	t.spawn(func() func() {
		dead := t.link.Probe(t.ctx, worker)
		if dead && !once {
			t.env.Pause(t.ctx, confirmAfter)
			dead = t.link.Probe(t.ctx, worker)
		}
		return func() {
			if dead {
				t.step(ledger.WorkerDied{Worker: worker})
			}
		}
	})
}
