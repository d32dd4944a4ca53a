package natspeers

import (
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// receive turns what the connection hears, and what becomes of it, into events.
func (p *Peers) receive() {
	p.noteLink(p.nc.IsConnected())
	for {
		select {
		case msg := <-p.heard:
			p.hear(msg)
		case status := <-p.status:
			p.noteLink(status == nats.CONNECTED)
			if len(p.status) == 0 { // some may have been dropped, if this came late
				p.noteLink(p.nc.IsConnected())
			}
		case <-p.closing:
			return
		}
	}
}

// noteLink reports the connection's state where it changed.
func (p *Peers) noteLink(linked bool) {
	if linked == p.linked {
		return
	}
	p.linked = linked
	if linked {
		p.report(election.Reconnected{})
	} else {
		p.report(election.Disconnected{})
	}
}

// hear reports a message, and answers it where an answer is asked for.
func (p *Peers) hear(msg *nats.Msg) {
	event, answer, err := p.understand(msg)
	if err != nil {
		p.log.Warn("Refused a message", "subject", msg.Subject, "bytes", len(msg.Data), "error", err)
		return
	}
	if !p.report(event) || answer == nil || msg.Reply == "" {
		return
	}
	if err := msg.Respond(answer); err != nil {
		p.log.Warn("Could not answer a message", "subject", msg.Subject, "error", err)
	}
}

var (
	errNoEpoch   = errors.New("it names no epoch")
	errNoWorker  = errors.New("it names no worker")
	errNoLeaseID = errors.New("it names no lease ID")
)

// understand checks a message and makes an event of it. The answer is what its
// sender waits for.
func (p *Peers) understand(msg *nats.Msg) (event election.Event, answer []byte, err error) {
	switch msg.Subject {
	case p.subjects.Beacon():
		beacon, err := wire.Decode[wire.Beacon](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case beacon.Epoch == 0:
			return nil, nil, errNoEpoch
		case !wire.ValidWorker(beacon.Worker):
			return nil, nil, errNoWorker
		case beacon.LeaseID == "":
			return nil, nil, errNoLeaseID
		}
		return election.BeaconHeard{Beacon: beacon}, nil, nil

	case p.subjects.Suspect():
		suspect, err := wire.Decode[wire.Suspect](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case !wire.ValidWorker(suspect.Worker):
			return nil, nil, errNoWorker
		}
		return election.SuspicionHeard{Suspect: suspect}, nil, nil

	default: // there is one subscription more, for offers
		offer, err := wire.Decode[wire.Offer](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case offer.Epoch == 0:
			return nil, nil, errNoEpoch
		case offer.LeaseID == "":
			return nil, nil, errNoLeaseID
		}
		return election.OfferReceived{Offer: offer}, wire.Encode(wire.Pong{Epoch: offer.Epoch, Worker: p.worker}), nil
	}
}

// report hands an event over, unless this ends first.
func (p *Peers) report(event election.Event) bool {
	select {
	case p.events <- event:
		return true
	case <-p.closing:
		return false
	}
}
