package coordinator

import (
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/coordinator/term"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// hearing decodes and checks what a leader is told and asked, beside the loop,
// and has the loop answer. An answer that is lost is asked for again.
type hearing struct {
	term *term.Term
	loop *loop
	pong wire.Pong
}

// report takes a worker's report.
func (h hearing) report(m *nats.Msg) error {
	report, err := wire.Decode[wire.Report](m.Data)
	if err != nil {
		return err
	}
	if err := report.Validate(); err != nil {
		return err
	}
	size := len(m.Data)
	h.loop.Post(func() {
		h.term.Report(report, size, func(receipt wire.Receipt) { _ = m.Respond(wire.Encode(receipt)) })
	})
	return nil
}

// ping answers through the loop: a leader whose loop stands still must not look
// alive.
func (h hearing) ping(m *nats.Msg) error {
	if _, err := wire.Decode[wire.Ping](m.Data); err != nil {
		return err
	}
	h.loop.Post(func() { _ = m.Respond(wire.Encode(h.pong)) })
	return nil
}

func (h hearing) askLeader(m *nats.Msg) error {
	h.loop.Post(func() { _ = m.Respond(wire.Encode(h.term.Leader())) })
	return nil
}

func (h hearing) askStepDown(m *nats.Msg) error {
	h.loop.Post(func() {
		_ = m.Respond(wire.Encode(h.term.Leader()))
		h.term.Stop()
	})
	return nil
}

func (h hearing) askWorkers(m *nats.Msg) error {
	h.loop.Post(func() { _ = m.Respond(wire.Encode(h.term.Workers())) })
	return nil
}

func (h hearing) askJobs(m *nats.Msg) error {
	query, err := wire.Decode[wire.JobQuery](m.Data)
	if err != nil {
		return err
	}
	h.loop.Post(func() { _ = m.Respond(wire.Encode(h.term.Jobs(query))) })
	return nil
}

func (h hearing) askCancel(m *nats.Msg) error {
	cancel, err := wire.Decode[wire.Cancel](m.Data)
	if err != nil {
		return err
	}
	h.loop.Post(func() {
		h.term.Cancel(cancel.Job, func(err error) {
			done := wire.Done{}
			if err != nil {
				done.Error = err.Error()
			}
			_ = m.Respond(wire.Encode(done))
		})
	})
	return nil
}
