package term

import (
	"time"

	"github.com/bellwether-compute/bellwether/coordinator/ledger"
)

// confirmAfter is when a worker that nobody answered for is looked for once more:
// longer than a worker takes to connect to another NATS server.
const confirmAfter = 750 * time.Millisecond

// probe asks a worker for a sign of life. Only the certainty that nobody listens
// counts as death. A leader that settles has not heard of the worker and only
// ceases to wait for it, so that it looks once.
func (t *Term) probe(worker string) {
	once := !t.ledger.Recovered()
	t.spawn(func() func() {
		gone := t.link.Absent(t.ctx, worker)
		if gone && !once {
			t.env.Pause(t.ctx, confirmAfter)
			gone = t.link.Absent(t.ctx, worker)
		}
		return func() {
			if gone {
				t.step(ledger.WorkerDied{Worker: worker})
			}
		}
	})
}
