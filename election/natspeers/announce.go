package natspeers

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

var _ election.Announcer = (*Peers)(nil)

// beaconEvery is the time between two beacons of Announce.
const beaconEvery = time.Second

// Announce sends beacons for the term and answers pings until ctx is done.
func (p *Peers) Announce(ctx context.Context, term *election.Term) error {
	pings := make(chan *nats.Msg, 256)
	subscription, err := p.nc.ChanSubscribe(p.subjects.Ping(term.Epoch), pings)
	if err != nil {
		return fmt.Errorf("listen for pings of epoch %d: %w", term.Epoch, err)
	}
	defer func() { _ = subscription.Unsubscribe() }() // Unsubscribe fails only if the connection is closed
	b := wire.Beacon{Epoch: term.Epoch, Worker: p.worker, LeaseID: term.LeaseID, Next: beaconEvery, Storage: p.storage}
	beacon := wire.Encode(b)
	pong := wire.Encode(wire.Pong{Epoch: term.Epoch, Worker: p.worker})
	next := time.NewTicker(beaconEvery)
	defer next.Stop()
	p.publish(p.subjects.Beacon(), beacon)
	for {
		select {
		case <-ctx.Done():
			b.Leaving = true
			p.publish(p.subjects.Beacon(), wire.Encode(b))
			return nil
		case <-next.C:
			p.publish(p.subjects.Beacon(), beacon)
		case ping := <-pings:
			question, err := wire.Decode[wire.Ping](ping.Data)
			if ctx.Err() == nil && ping.Reply != "" && err == nil && wire.SameStorage(question.Storage, p.storage) {
				p.publish(ping.Reply, pong)
			}
		}
	}
}

// publish sends a message without confirmation, so the message is lost if the connection is lost.
func (p *Peers) publish(subject string, data []byte) {
	if err := p.nc.Publish(subject, data); err != nil {
		p.log.Warn("Could not send a message", "subject", subject, "error", err)
	}
}
