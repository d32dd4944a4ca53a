package coordinator

import (
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// handlers handle the messages to a leader. Each handler decodes and validates a message outside
// the loop, and then answers it on the loop. A sender that gets no answer repeats its message.
type handlers struct {
	term    *term.Term
	loop    *loop
	pong    wire.Pong
	storage string // identity of the storage that the leader uses
	respond func(m *nats.Msg, answer []byte)
	recent  *recentAnswers
}

func (h handlers) onReport(m *nats.Msg) error {
	report, err := wire.Decode[wire.Report](m.Data)
	if err != nil {
		return err
	}
	size := len(m.Data)
	h.loop.Post(func() {
		h.term.Report(report, size, func(receipt wire.Receipt) { h.respond(m, wire.Encode(receipt)) })
	})
	return nil
}

// onPing answers a ping on the loop, so that a leader whose loop hangs does not seem alive. It
// ignores pings of followers on another storage, which are meant for another leader with the same
// epoch.
func (h handlers) onPing(m *nats.Msg) error {
	ping, err := wire.Decode[wire.Ping](m.Data)
	if err != nil || !wire.SameStorage(ping.Storage, h.storage) {
		return err
	}
	h.loop.Post(func() { h.respond(m, wire.Encode(h.pong)) })
	return nil
}

func (h handlers) onAskLeader(m *nats.Msg) error {
	h.loop.Post(func() { h.respond(m, wire.Encode(h.term.Leader())) })
	return nil
}

func (h handlers) onAskStepDown(m *nats.Msg) error {
	h.loop.Post(func() {
		h.respond(m, wire.Encode(h.term.Leader()))
		h.term.Stop()
	})
	return nil
}

func (h handlers) onAskWorkers(m *nats.Msg) error {
	if len(m.Data) == 0 {
		h.loop.Post(func() { h.respond(m, wire.Encode(h.term.Workers())) })
		return nil
	}
	query, err := wire.Decode[wire.WorkerQuery](m.Data)
	if err != nil {
		return err
	}
	h.loop.Post(func() {
		h.respond(m, h.recent.answer(m, func() []byte { return wire.Encode(h.term.WorkersAfter(query)) }))
	})
	return nil
}

func (h handlers) onAskJobs(m *nats.Msg) error {
	query, err := wire.Decode[wire.JobQuery](m.Data)
	if err != nil {
		return err
	}
	answer := func() []byte {
		jobs := h.term.Jobs(query)
		if query.Submitted != nil {
			jobs.Place = h.term.Submitted(query.Job, *query.Submitted)
		}
		return wire.Encode(jobs)
	}
	h.loop.Post(func() {
		if query.Recent || len(query.Windows) > 0 {
			h.respond(m, h.recent.answer(m, answer))
		} else {
			h.respond(m, answer())
		}
	})
	return nil
}

func (h handlers) onAskCancel(m *nats.Msg) error {
	cancel, err := wire.Decode[wire.Cancel](m.Data)
	if err != nil {
		return err
	}
	h.loop.Post(func() {
		h.term.Cancel(cancel.Job, func(err error) {
			done := wire.Done{Storage: h.storage}
			if err != nil {
				done.Error = err.Error()
			}
			h.respond(m, wire.Encode(done))
		})
	})
	return nil
}
