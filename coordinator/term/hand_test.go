package term_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// letters is a job whose merge does not commute: the result is a letter for each
// partition, in order. Its partials are padded.
type lettersParams struct {
	Partitions uint64 `min:"1"`
	Pad        int    `min:"0"`
}

var letters = jobs.MustNew(lettersDefinition(func() {}))

// lettersDefinition is the job with something to do in each merge.
func lettersDefinition(merging func()) jobs.Definition[lettersParams, string, string] {
	return jobs.Definition[lettersParams, string, string]{
		Name: "letters", Version: "1", Defaults: lettersParams{Partitions: 1},
		Plan: func(_ context.Context, p lettersParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions}, nil
		},
		Open: func(_ context.Context, p lettersParams, _ jobs.Plan) (jobs.Mapper[string], error) {
			return lettersMapper{p}, nil
		},
		Merge: func(left, right string) (string, error) { merging(); return left + right, nil },
		Finish: func(_ context.Context, p lettersParams, root string) (string, error) {
			var word []byte
			for ; root != ""; root = root[1+p.Pad:] {
				word = append(word, root[0])
			}
			return string(word), nil
		},
	}
}

type lettersMapper struct{ p lettersParams }

func (m lettersMapper) Map(_ context.Context, partition uint64) (string, error) {
	return string(rune('a'+partition%26)) + strings.Repeat(".", m.p.Pad), nil
}

// hand is a worker: it repeats a report until the receipt comes, and runs a
// partition between two reports.
type hand struct {
	stage  *stage
	id     string
	leader *leader
	knows  []wire.JobKind

	sequence uint64
	unheard  *wire.Report // that there is no receipt for
	openings map[string]wire.Opening
	held     []wire.HeldSpan
	items    map[string][]wire.Item // all that it ever had to say, from number 1
	received map[string]uint64
	ended    map[string]bool
	ran      map[string]int // partitions
}

func (s *stage) hire(id string) *hand {
	h := &hand{
		stage: s, id: id, knows: []wire.JobKind{{Name: "letters", Version: "1"}}, openings: map[string]wire.Opening{}, items: map[string][]wire.Item{},
		ended: map[string]bool{}, ran: map[string]int{},
	}
	s.hands = append(s.hands, h)
	return h
}

func (h *hand) follow(l *leader) {
	h.leader, h.sequence, h.unheard = l, 0, nil
	h.received = map[string]uint64{}
}

func (h *hand) report() {
	if h.unheard == nil {
		h.sequence++
		r := wire.Report{Epoch: h.leader.epoch, Worker: h.id, Sequence: h.sequence, Spans: slices.Clone(h.held)}
		if h.sequence == 1 {
			r.Hello = &wire.Hello{Host: "host", PID: 1, Slots: 1, Knows: h.knows}
		}
		for _, id := range slices.Sorted(maps.Keys(h.items)) {
			if items := h.items[id]; !h.ended[id] {
				r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: h.received[id] + 1, Items: items[h.received[id]:]})
			}
		}
		h.unheard = &r
	}
	data := wire.Encode(*h.unheard)
	copied, err := wire.Decode[wire.Report](data)
	if err == nil {
		err = copied.Validate()
	}
	if err != nil {
		h.stage.t.Fatal(err)
	}
	l := h.leader
	l.turn(func() {
		l.term.Report(copied, len(data), func(receipt wire.Receipt) {
			if h.leader == l && receipt.Sequence == h.sequence {
				h.unheard = nil
				h.take(receipt)
			}
		})
	})
}

func (h *hand) take(receipt wire.Receipt) {
	h.stage.t.Helper()
	if receipt.Refused != "" {
		h.stage.t.Fatalf("report refused: %s", receipt.Refused)
	}
	for _, o := range receipt.Opens {
		h.openings[o.Job] = o
	}
	for _, a := range receipt.Assigned {
		h.held = append(h.held, wire.HeldSpan{ID: a.ID, Job: a.Job, Span: a.Span})
	}
	for _, c := range receipt.Cuts {
		for i := range h.held {
			if s := &h.held[i]; s.ID == c.ID {
				s.Span.Hi = max(s.Span.Lo, min(s.Span.Hi, c.Hi))
			}
		}
	}
	for _, j := range receipt.Jobs {
		h.received[j.Job] = j.Received
		h.ended[j.Job] = h.ended[j.Job] || j.Ended
		h.checkDurable(j)
	}
	h.forgetEmpty()
}

// checkDurable checks that a manifest has what is called durable.
func (h *hand) checkDurable(j wire.JobReceipt) {
	h.stage.t.Helper()
	if j.Durable == 0 || j.Ended {
		return
	}
	running := h.stage.running
	h.stage.running = nil
	m, _, err := h.stage.store.Manifest(context.Background(), j.Job)
	_, gone := h.stage.store.Spec(context.Background(), j.Job)
	h.stage.running = running
	switch {
	case errors.Is(err, store.ErrNotFound) && errors.Is(gone, store.ErrNotFound):
		return // it has ended and was removed
	case err != nil:
		h.stage.t.Fatal(err)
	}
	for _, c := range m.Workers {
		if c.Worker == h.id && c.Through >= j.Durable {
			return
		}
	}
	h.stage.t.Fatalf("items of %s up to %d were called durable, the manifest has %+v", h.id, j.Durable, m.Workers)
}

// work runs one partition.
func (h *hand) work() {
	h.stage.t.Helper()
	if len(h.held) == 0 {
		return
	}
	s := &h.held[0]
	o := h.openings[s.Job]
	task, err := letters.Open(context.Background(), o.Params, jobs.Plan{Partitions: o.Partitions, Data: o.Data})
	if err != nil {
		h.stage.t.Fatal(err)
	}
	stack := task.NewStack()
	var never atomic.Bool
	if _, err := stack.Run(context.Background(), jobs.Span{Lo: s.Span.Lo, Hi: s.Span.Lo + 1}, &never); err != nil {
		h.stage.t.Fatal(err)
	}
	partials, err := stack.Drain(s.Span.Lo + 1)
	if err != nil {
		h.stage.t.Fatal(err)
	}
	for _, p := range partials {
		partial := wire.NewPartial(p.Node, p.Data)
		h.items[s.Job] = append(h.items[s.Job], wire.Item{Partial: &partial})
	}
	h.ran[s.Job]++
	s.Span.Lo++
	h.forgetEmpty()
}

func (h *hand) forgetEmpty() {
	var left []wire.HeldSpan
	for _, s := range h.held {
		if !s.Span.Empty() && !h.ended[s.Job] {
			left = append(left, s)
		}
	}
	h.held = left
}
