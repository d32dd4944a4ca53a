package sim

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

type message struct {
	body        []byte
	deliveries  int
	hiddenUntil time.Duration
	deleted     bool
}

var (
	_ store.Queue   = (*queue)(nil)
	_ store.Message = (*delivery)(nil)
)

type queue struct{ process *process }

func (q *queue) Send(ctx context.Context, body []byte) error {
	st := q.process.storage
	return q.process.call(ctx, func() error {
		st.messages = append(st.messages, &message{body: bytes.Clone(body)})
		return nil
	})
}

// Receive polls the queue for a message. Real drivers do the same for queues that cannot push
// messages.
func (q *queue) Receive(ctx context.Context) (store.Message, error) {
	p := q.process
	for {
		var d *delivery
		err := p.call(ctx, func() error {
			d = p.storage.take(p)
			return nil
		})
		switch {
		case err == nil && d != nil:
			return d, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
		p.pause(ctx, 200*time.Millisecond)
	}
}

// take delivers and hides the first visible message. It returns nil if no message is visible.
func (st *storage) take(p *process) *delivery {
	s := st.sim
	for _, m := range st.messages {
		if m.deleted || m.hiddenUntil > s.now {
			continue
		}
		m.deliveries++
		if m.deliveries > 1 {
			s.cover("seen: submission delivered again")
		}
		m.hiddenUntil = s.now + s.scenario.hideFor
		return &delivery{p, m, m.deliveries}
	}
	return nil
}

type delivery struct {
	process *process
	message *message
	count   int
}

func (d *delivery) Body() []byte { return bytes.Clone(d.message.body) }

func (d *delivery) Deliveries() int { return d.count }

func (d *delivery) Extend(ctx context.Context) error {
	s := d.process.sim
	return d.process.call(ctx, func() error {
		if d.message.deleted {
			return fmt.Errorf("message: %w", store.ErrNotFound)
		}
		d.message.hiddenUntil = s.now + s.scenario.hideFor
		return nil
	})
}

func (d *delivery) Delete(ctx context.Context) error {
	return d.process.call(ctx, func() error {
		s := d.process.sim
		s.trace.printf(d.process, "    removes a submission from the queue")
		d.message.deleted = true
		return nil
	})
}
