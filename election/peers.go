package election

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Peers is what the processes of a cluster tell one another about who leads.
type Peers interface {
	// Ping asks the leader of an epoch for a sign of life. ErrNoResponders: its
	// process is gone. Any other error: no answer, which may mean anything.
	Ping(ctx context.Context, epoch uint64) error
	// SendSuspicion tells the others that the leader of the epoch seems dead, so that
	// they look for themselves. Epoch 0: that nobody is known to lead and the
	// caller is about to look. It is sent at best effort.
	SendSuspicion(epoch uint64)
	// Offer hands the lease to a worker. It returns nil once the worker has the
	// offer, and ErrNoResponders if its process is gone.
	Offer(ctx context.Context, worker string, offer wire.Offer) error
	// Events is what is heard, in order. It is always the same channel, has room
	// for what is heard meanwhile, and is not closed.
	Events() <-chan Event
}
