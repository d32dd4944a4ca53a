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
func (r *Reign) probe(worker string) {
	once := !r.ledger.Recovered()
	r.spawn(func() func() {
		gone := r.link.Absent(r.ctx, worker)
		if gone && !once {
			r.world.Pause(r.ctx, confirmAfter)
			gone = r.link.Absent(r.ctx, worker)
		}
		return func() {
			if gone {
				r.step(ledger.WorkerDied{Worker: worker})
			}
		}
	})
}
