package natspeers

import (
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// receive turns messages and changes of the connection into events.
func (p *Peers) receive() {
	p.noteConnection(p.nc.IsConnected())
	for {
		select {
		case msg := <-p.messages:
			p.onMessage(msg)
		case status := <-p.status:
			p.noteConnection(status == nats.CONNECTED)
			if len(p.status) == 0 { // the full channel may have dropped status changes, so ask the connection
				p.noteConnection(p.nc.IsConnected())
			}
		case <-p.closing:
			return
		}
	}
}

// noteConnection reports the connection's state if it has changed.
func (p *Peers) noteConnection(connected bool) {
	if connected == p.connected {
		return
	}
	p.connected = connected
	if connected {
		p.report(machine.Reconnected{})
	} else {
		p.report(machine.Disconnected{})
	}
}

// onMessage reports a message as an event, and answers the message if its sender
// expects an answer.
func (p *Peers) onMessage(msg *nats.Msg) {
	event, answer, err := p.decode(msg)
	if err != nil {
		p.log.Warn("Message refused", "subject", msg.Subject, "bytes", len(msg.Data), "error", err)
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
	errNoEpoch   = errors.New("no epoch that a leader can have")
	errNoWorker  = errors.New("no valid worker ID")
	errNoLeaseID = errors.New("no lease ID")
)

// decode returns a valid message as an event, and the answer that the message's sender expects, or
// nil.
func (p *Peers) decode(msg *nats.Msg) (event machine.Event, answer []byte, err error) {
	switch msg.Subject {
	case p.subjects.Beacon():
		beacon, err := wire.Decode[wire.Beacon](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case beacon.Epoch == 0 || beacon.Epoch > wire.MaxEpoch:
			return nil, nil, errNoEpoch
		case !wire.ValidWorker(beacon.Worker):
			return nil, nil, errNoWorker
		case beacon.LeaseID == "":
			return nil, nil, errNoLeaseID
		}
		return machine.BeaconHeard{Beacon: beacon}, nil, nil

	case p.subjects.Suspicion():
		suspect, err := wire.Decode[wire.Suspicion](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case !wire.ValidWorker(suspect.Worker):
			return nil, nil, errNoWorker
		}
		return machine.SuspicionHeard{Suspicion: suspect}, nil, nil

	default: // the remaining subscription is for offers
		offer, err := wire.Decode[wire.Offer](msg.Data)
		switch {
		case err != nil:
			return nil, nil, err
		case offer.Epoch == 0:
			return nil, nil, errNoEpoch
		case offer.LeaseID == "":
			return nil, nil, errNoLeaseID
		}
		return machine.OfferReceived{Offer: offer}, wire.Encode(wire.Pong{Epoch: offer.Epoch, Worker: p.worker}), nil
	}
}

// report delivers an event. It returns false if Peers is closed.
func (p *Peers) report(event machine.Event) bool {
	select {
	case p.events <- event:
		return true
	case <-p.closing:
		return false
	}
}
