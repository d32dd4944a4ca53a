package coordinator_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// worker implements a worker's side of the protocol. The worker sends a report, runs partitions and
// makes calls only when a test tells it to, so that tests control the order of events.
type worker struct {
	t        *testing.T
	nc       *nats.Conn
	store    *store.Store
	subjects wire.Subjects
	id       string
	job      jobs.Job

	epoch, conversation, sequence uint64

	openings map[string]wire.Opening
	held     []wire.HeldSpan
	calls    []wire.Assignment      // calls that the worker holds
	items    map[string][]wire.Item // all items of a job, from number 1 on
	received map[string]uint64
	durable  map[string]uint64
	ended    map[string]bool
}

func newWorker(c *cluster, id string, job jobs.Job) *worker {
	c.t.Helper()
	sub, err := c.nc.Subscribe(c.subjects.Probe(id), func(m *nats.Msg) { _ = m.Respond(wire.Encode(wire.ProbeAnswer{})) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = sub.Unsubscribe() })
	return &worker{
		t: c.t, nc: c.nc, store: c.store, subjects: c.subjects, id: id, job: job,
		openings: map[string]wire.Opening{}, items: map[string][]wire.Item{},
		received: map[string]uint64{}, durable: map[string]uint64{}, ended: map[string]bool{},
	}
}

// follow makes the worker follow the leader of an epoch.
func (w *worker) follow(epoch uint64) {
	w.epoch, w.sequence = epoch, 0
	w.received = maps.Clone(w.durable)
}

func (w *worker) next() wire.Report {
	w.sequence++
	r := wire.Report{Epoch: w.epoch, Worker: w.id, Conversation: w.conversation, Sequence: w.sequence, Spans: slices.Clone(w.held)}
	for _, a := range w.calls {
		r.Spans = append(r.Spans, wire.HeldSpan{ID: a.ID, Job: a.Job, Function: a.Call.Function, Node: a.Call.Node})
	}
	if w.sequence == 1 {
		r.Hello = &wire.Hello{Host: "host", PID: 1, Slots: 2, Knows: []wire.JobKind{{Name: w.job.Name(), Version: w.job.Version()}}}
	}
	for id, items := range w.items {
		if !w.ended[id] {
			r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: w.received[id] + 1, Items: items[w.received[id]:]})
		}
	}
	return r
}

// report sends a report and processes its receipt.
func (w *worker) report() wire.Receipt {
	w.t.Helper()
	receipt := w.send(w.next())
	switch {
	case strings.Contains(receipt.Refused, "of a job that was parked"):
		w.conversation++
		w.follow(w.epoch)
		return w.report()
	case receipt.Refused != "":
		w.t.Fatalf("report refused: %s", receipt.Refused)
	}
	for _, o := range receipt.Opens {
		w.openings[o.Job] = o
	}
	for _, a := range receipt.Assigned {
		if a.Call != nil {
			w.calls = append(w.calls, a)
		} else {
			w.held = append(w.held, wire.HeldSpan{ID: a.ID, Job: a.Job, Span: a.Span})
		}
		if w.items[a.Job] == nil {
			w.items[a.Job] = []wire.Item{}
		}
	}
	for _, c := range receipt.Cuts {
		w.calls = slices.DeleteFunc(w.calls, func(a wire.Assignment) bool { return a.ID == c.ID })
		for i := range w.held {
			if h := &w.held[i]; h.ID == c.ID {
				h.Span.Hi = max(h.Span.Lo, min(h.Span.Hi, c.Hi))
			}
		}
	}
	for _, j := range receipt.Jobs {
		w.received[j.Job], w.durable[j.Job] = j.Received, max(w.durable[j.Job], j.Durable)
		w.ended[j.Job] = w.ended[j.Job] || j.Ended
	}
	w.dropEmpty()
	return receipt
}

// reportUntilHeld sends reports, and makes calls, until the worker has been assigned a span.
func (w *worker) reportUntilHeld() {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); len(w.held) == 0; w.report() {
		w.makeCalls()
		if time.Now().After(deadline) {
			w.t.Fatalf("worker %s was assigned nothing", w.id)
		}
	}
}

func (w *worker) dropEmpty() {
	left := w.held[:0]
	for _, h := range w.held {
		if !h.Span.Empty() && !w.ended[h.Job] {
			left = append(left, h)
		}
	}
	w.held = left
	w.calls = slices.DeleteFunc(w.calls, func(a wire.Assignment) bool { return w.ended[a.Job] })
}

// send resends a report until it is answered, like a real worker.
func (w *worker) send(r wire.Report) wire.Receipt {
	w.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		msg, err := w.nc.Request(w.subjects.Report(r.Epoch), wire.Encode(r), time.Second)
		if err != nil {
			time.Sleep(time.Millisecond) // the leader does not listen yet
			continue
		}
		receipt, err := wire.Decode[wire.Receipt](msg.Data)
		if err != nil {
			w.t.Fatal(err)
		}
		return receipt
	}
	w.t.Fatalf("report %d to epoch %d was not answered", r.Sequence, r.Epoch)
	return wire.Receipt{}
}

// work makes the worker's calls, and runs at most n of its partitions.
func (w *worker) work(n uint64) {
	w.t.Helper()
	w.makeCalls()
	for i := range w.held {
		h := &w.held[i]
		span := engine.Span{Lo: h.Span.Lo, Hi: min(h.Span.Hi, h.Span.Lo+n)}
		n -= span.Len()
		w.run(h, span)
		h.Span.Lo = span.Hi
	}
	w.dropEmpty()
}

// makeCalls makes the worker's calls.
func (w *worker) makeCalls() {
	w.t.Helper()
	for _, a := range w.calls {
		item, err := w.makeCall(a)
		if err != nil {
			item = wire.Item{Failure: &wire.Failure{
				Error: err.Error(), Permanent: jobs.IsPermanent(err), Function: a.Call.Function, Node: a.Call.Node,
			}}
		}
		w.items[a.Job] = append(w.items[a.Job], item)
	}
	w.calls = nil
}

func (w *worker) makeCall(a wire.Assignment) (wire.Item, error) {
	w.t.Helper()
	operands := make([]engine.Operand, len(a.Call.Operands))
	for i, p := range a.Call.Operands {
		operands[i].Data = p.Data
		if p.Blob != "" {
			var err error
			if operands[i].Data, err = w.store.Partial(context.Background(), a.Job, p.Blob); err != nil {
				return wire.Item{}, err
			}
		}
	}
	item, _, err := session.MakeCall(context.Background(), w.job, w.openings[a.Job].Params, *a.Call, operands, a.ID.Epoch, nil)
	if p := item.Partial; p != nil && len(p.Data) > wire.MaxInline {
		*p = wire.Partial{Node: p.Node, Blob: w.putPartial(a.Job, p.Node, p.Data), MergedFor: p.MergedFor}
	}
	if o := item.Output; o != nil && len(o.Data) > wire.MaxInline {
		o.Blob, o.Data, o.Sum = w.putPartial(a.Job, wire.OutputNode(o.Function), o.Data), nil, 0
	}
	return item, err
}

func (w *worker) putPartial(job string, node engine.Node, data []byte) (blob string) {
	w.t.Helper()
	blob, err := w.store.PutPartial(context.Background(), job, node, data)
	if err != nil {
		w.t.Fatal(err)
	}
	return blob
}

// workWithoutMerging makes the worker's calls, and runs all of its partitions, one at a time, so
// that the leader has to merge the results.
func (w *worker) workWithoutMerging() {
	w.makeCalls()
	for i := range w.held {
		h := &w.held[i]
		for ; !h.Span.Empty(); h.Span.Lo++ {
			w.run(h, engine.Span{Lo: h.Span.Lo, Hi: h.Span.Lo + 1})
		}
	}
	w.dropEmpty()
}

func (w *worker) run(h *wire.HeldSpan, span engine.Span) {
	w.t.Helper()
	o := w.openings[h.Job]
	task, err := w.job.Engine().Open(context.Background(), o.Params, o.Partitions, o.Data)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = task.Close() }()
	stack := task.NewStack()
	var never atomic.Bool
	for !span.Empty() {
		next, err := stack.Run(context.Background(), span, &never)
		w.drain(h.Job, stack, next)
		if err != nil {
			w.items[h.Job] = append(w.items[h.Job], wire.Item{Failure: &wire.Failure{
				Partition: next, Error: err.Error(), Permanent: jobs.IsPermanent(err),
			}})
			next++
		}
		span.Lo = next
	}
}

func (w *worker) drain(job string, stack engine.Stack, hi uint64) {
	w.t.Helper()
	partials, err := stack.Drain(hi)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range partials {
		partial := wire.NewPartial(p.Node, p.Data)
		if len(p.Data) > wire.MaxInline {
			partial = wire.Partial{Node: p.Node, Blob: w.putPartial(job, p.Node, p.Data)}
		}
		w.items[job] = append(w.items[job], wire.Item{Partial: &partial})
	}
}

// workUntilEnded works and reports until the worker is told that the job has ended.
func (w *worker) workUntilEnded(job string) {
	w.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !w.ended[job] {
		if time.Now().After(deadline) {
			w.t.Fatalf("job %s has not ended", job)
		}
		w.report()
		w.work(engine.MaxPartitions)
	}
}

// ran returns the number of the job's partitions that the leader has received.
func (w *worker) ran(job string) (partitions uint64) {
	tree, err := engine.NewTree(max(1, w.openings[job].Partitions))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, item := range w.items[job][:w.received[job]] {
		if item.Partial != nil && item.Partial.MergedFor == 0 {
			partitions += tree.Span(item.Partial.Node).Len()
		}
	}
	return partitions
}
