package election

import (
	"context"

	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// Peers carries the messages about leadership between the processes of a cluster.
type Peers interface {
	// Ping asks the leader of an epoch for a sign of life. It returns ErrNoResponders if the
	// leader's process is gone. After any other error of Ping it is unknown whether the leader is
	// alive.
	Ping(ctx context.Context, epoch uint64) error
	// SendSuspicion tells the other processes that the leader of the epoch seems dead, so that they
	// ping the leader too. Epoch 0 means that the sender knows no leader and is about to read the
	// record. SendSuspicion does not guarantee delivery.
	SendSuspicion(epoch uint64)
	// Offer hands the lease to a worker. It returns nil once the worker has the offer, and
	// ErrNoResponders if the worker's process is gone.
	Offer(ctx context.Context, worker string, offer wire.Offer) error
	// Events returns the channel of received events, in order. Every call returns the
	// same channel, which is buffered and never closed.
	Events() <-chan machine.Event
}
