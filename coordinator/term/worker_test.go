package term_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// letters is a job whose merge does not commute: its result has a letter for each partition, in
// order.
type lettersParams struct {
	Partitions uint64 `min:"1"`
	Pad        int    `min:"0"` // number of bytes that pad each partial
	PlanData   int    `min:"0"` // number of bytes of the plan's data
	Result     int    `min:"0"` // number of bytes that pad the result
}

var letters = jobs.MustNew(lettersDefinition(func() {}))

// lettersDefinition returns the definition of the job letters, with a function that each merge
// calls.
func lettersDefinition(onMerge func()) jobs.Definition[lettersParams, string, string] {
	return jobs.Definition[lettersParams, string, string]{
		Name: "letters", Version: "1", Defaults: lettersParams{Partitions: 1},
		Plan: func(_ context.Context, p lettersParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: p.Partitions, Data: make([]byte, p.PlanData)}, nil
		},
		Open: func(_ context.Context, p lettersParams, plan jobs.Plan) (jobs.Mapper[string], error) {
			if len(plan.Data) != p.PlanData {
				return nil, fmt.Errorf("plan has %d bytes of data, want %d", len(plan.Data), p.PlanData)
			}
			return lettersMapper{p}, nil
		},
		Merge: func(left, right string) (string, error) { onMerge(); return left + right, nil },
		Finish: func(_ context.Context, p lettersParams, root string) (string, error) {
			var word []byte
			for ; root != ""; root = root[1+p.Pad:] {
				word = append(word, root[0])
			}
			return string(word) + strings.Repeat(".", p.Result), nil
		},
	}
}

type lettersMapper struct{ p lettersParams }

func (m lettersMapper) Map(_ context.Context, partition uint64) (string, error) {
	return string(rune('a'+partition%26)) + strings.Repeat(".", m.p.Pad), nil
}

// worker resends a report until its receipt arrives, and runs one partition or makes one call
// between two reports.
type worker struct {
	cluster *cluster
	id      string
	leader  *leader
	knows   []wire.JobKind
	storage string // identity of the worker's storage; empty if the worker does not send it
	build   string // build of the worker's program; empty if the worker does not send it

	conversation uint64
	sequence     uint64
	inFlight     *wire.Report // the report without a receipt
	nextReport   time.Time    // time of the next report if there is nothing new
	openings     map[string]wire.Opening
	held         []wire.HeldSpan
	toCall       map[wire.SpanID]wire.Call // calls among the held assignments
	items        map[string][]wire.Item    // all items of a job, from number 1 on
	received     map[string]uint64
	ended        map[string]bool
	ran          map[string]int                // number of runs of each partition
	job          jobs.Job                      // job that makes the worker's calls
	called       []string                      // called functions, in order
	drains       bool                          // the worker reports that it drains
	hangs        bool                          // the worker's calls do not return
	damagesFound func(job, blob string) string // damages the blob with what the worker has found; may be nil

	keeps []string      // keys of the roots that the worker was told to keep
	finds []engine.Span // spans of the kept partials that the worker finds when it plans a job
	fails string        // the error with which each partition fails; empty if none fails
	bad   []uint64      // partitions that fail
}

func (c *cluster) addWorker(id string) *worker {
	w := &worker{
		cluster: c, id: id, knows: []wire.JobKind{{Name: "letters", Version: "1"}}, openings: map[string]wire.Opening{}, items: map[string][]wire.Item{},
		ended: map[string]bool{}, ran: map[string]int{}, toCall: map[wire.SpanID]wire.Call{}, job: letters,
	}
	c.workers = append(c.workers, w)
	return w
}

func (w *worker) follow(l *leader) {
	w.leader, w.sequence, w.inFlight, w.nextReport = l, 0, nil, time.Time{}
	w.received = map[string]uint64{}
}

// reportEvery is the time between two reports of a worker without news.
const reportEvery = 10 * step

func (w *worker) report() {
	now := w.cluster.now
	if now.Before(w.nextReport) && (w.inFlight != nil || len(w.held) == 0) {
		return
	}
	w.nextReport = now.Add(reportEvery)
	if w.inFlight == nil {
		w.sequence++
		r := wire.Report{Epoch: w.leader.epoch, Worker: w.id, Conversation: w.conversation, Sequence: w.sequence, Spans: slices.Clone(w.held), Draining: w.drains}
		if w.sequence == 1 {
			r.Hello = &wire.Hello{Host: "host", PID: 1, Slots: 1, Knows: w.knows, Storage: w.storage, Build: w.build}
		}
		for _, id := range slices.Sorted(maps.Keys(w.items)) {
			if items := w.items[id]; !w.ended[id] {
				r.Jobs = append(r.Jobs, wire.JobReport{Job: id, First: w.received[id] + 1, Items: items[w.received[id]:]})
			}
		}
		w.inFlight = &r
	}
	data := wire.Encode(*w.inFlight)
	copied, err := wire.Decode[wire.Report](data)
	if err != nil {
		w.cluster.t.Fatal(err)
	}
	l := w.leader
	l.turn(func() {
		l.term.Report(copied, len(data), func(receipt wire.Receipt) {
			if w.leader == l && receipt.Sequence == w.sequence {
				w.inFlight = nil
				w.take(receipt)
			}
		})
	})
}

func (w *worker) take(receipt wire.Receipt) {
	w.cluster.t.Helper()
	switch {
	case strings.Contains(receipt.Refused, "of a job that was parked"):
		w.conversation++
		w.follow(w.leader)
		return
	case receipt.Refused != "":
		w.cluster.t.Fatalf("report refused: %s", receipt.Refused)
	}
	for _, o := range receipt.Opens {
		w.openings[o.Job] = o
		if w.ended[o.Job] { // storage has lost the end of the job
			delete(w.ended, o.Job)
			w.received[o.Job] = uint64(len(w.items[o.Job]))
		}
	}
	for _, a := range receipt.Assigned {
		held := wire.HeldSpan{ID: a.ID, Job: a.Job, Span: a.Span}
		if a.Call != nil {
			held.Function, held.Node = a.Call.Function, a.Call.Node
			w.toCall[a.ID] = *a.Call
		}
		w.held = append(w.held, held)
	}
	for _, c := range receipt.Cuts {
		delete(w.toCall, c.ID)
		for i := range w.held {
			if s := &w.held[i]; s.ID == c.ID {
				s.Span.Hi = max(s.Span.Lo, min(s.Span.Hi, c.Hi))
			}
		}
	}
	for _, j := range receipt.Jobs {
		w.received[j.Job] = j.Received
		w.ended[j.Job] = w.ended[j.Job] || j.Ended
		w.checkDurable(j)
	}
	w.dropEmpty()
}

// checkDurable checks that the manifest contains the items that a receipt calls durable.
func (w *worker) checkDurable(j wire.JobReceipt) {
	w.cluster.t.Helper()
	if j.Durable == 0 || j.Ended || w.cluster.lossy {
		return
	}
	running := w.cluster.running
	w.cluster.running = nil
	m, _, err := w.cluster.store.Manifest(context.Background(), j.Job)
	_, gone := w.cluster.store.Spec(context.Background(), j.Job)
	w.cluster.running = running
	switch {
	case errors.Is(err, store.ErrNotFound) && errors.Is(gone, store.ErrNotFound):
		return // the job has ended and was removed
	case err != nil:
		w.cluster.t.Fatal(err)
	}
	for _, c := range m.Workers {
		if c.Worker == w.id && c.Through >= j.Durable {
			return
		}
	}
	w.cluster.t.Fatalf("items of %s up to %d were called durable, the manifest has %+v", w.id, j.Durable, m.Workers)
}

// work lets the worker run one partition or make one call.
func (w *worker) work() {
	w.cluster.t.Helper()
	next := slices.IndexFunc(w.held, func(h wire.HeldSpan) bool { return h.Function == wire.Map || !w.hangs })
	if next < 0 {
		return
	}
	s := &w.held[next]
	if s.Function != wire.Map {
		w.call(*s)
		return
	}
	if w.fails != "" || slices.Contains(w.bad, s.Span.Lo) {
		w.items[s.Job] = append(w.items[s.Job], wire.Item{Failure: &wire.Failure{Partition: s.Span.Lo, Error: cmp.Or(w.fails, "bad partition")}})
		s.Span.Lo++
		w.dropEmpty()
		return
	}
	o := w.openings[s.Job]
	plan := jobs.Plan{Partitions: o.Partitions, Data: o.Data}
	if o.InStore {
		stored, err := w.cluster.store.Plan(context.Background(), s.Job)
		if err != nil {
			w.cluster.t.Fatal(err)
		}
		plan = stored.Plan
	}
	task, err := letters.Engine().Open(context.Background(), o.Params, plan.Partitions, plan.Data)
	if err != nil {
		w.cluster.t.Fatal(err)
	}
	stack := task.NewStack()
	var never atomic.Bool
	if _, err := stack.Run(context.Background(), engine.Span{Lo: s.Span.Lo, Hi: s.Span.Lo + 1}, &never); err != nil {
		w.cluster.t.Fatal(err)
	}
	partials, err := stack.Drain(s.Span.Lo + 1)
	if err != nil {
		w.cluster.t.Fatal(err)
	}
	for _, p := range partials {
		partial := wire.NewPartial(p.Node, p.Data)
		if len(p.Data) > wire.MaxInline {
			partial = wire.Partial{Node: p.Node, Blob: w.putPartial(s.Job, p.Node, p.Data)}
		}
		w.items[s.Job] = append(w.items[s.Job], wire.Item{Partial: &partial})
	}
	w.ran[s.Job]++
	s.Span.Lo++
	w.dropEmpty()
}

// call makes a call of a job's function.
func (w *worker) call(h wire.HeldSpan) {
	w.cluster.t.Helper()
	call := w.toCall[h.ID]
	delete(w.toCall, h.ID)
	w.called = append(w.called, call.Function.String())
	item, err := w.makeCall(h, call)
	if err != nil {
		item = wire.Item{Failure: &wire.Failure{Error: err.Error(), Permanent: jobs.IsPermanent(err), Function: call.Function, Node: call.Node}}
	}
	w.items[h.Job] = append(w.items[h.Job], item)
	w.dropEmpty()
}

func (w *worker) makeCall(h wire.HeldSpan, call wire.Call) (wire.Item, error) {
	w.cluster.t.Helper()
	ctx := context.Background()
	operands := make([]engine.Operand, len(call.Operands))
	for i, p := range call.Operands {
		operands[i].Data = p.Data
		if p.Blob != "" {
			var err error
			if operands[i].Data, err = w.cluster.store.Partial(ctx, h.Job, p.Blob); err != nil {
				return wire.Item{}, err
			}
		}
	}
	item, _, err := session.MakeCall(ctx, w.job, w.openings[h.Job].Params, call, operands, h.ID.Epoch, nil)
	if o := item.Output; o != nil && call.Function == wire.Plan && w.openings[h.Job].Keep > 0 {
		if o.Found = w.find(h.Job, *o); w.damagesFound != nil {
			o.Found = w.damagesFound(h.Job, o.Found)
		}
	}
	if call.Function == wire.Finish {
		w.keeps = append(w.keeps, string(call.Key))
	}
	if o := item.Output; o != nil && len(o.Data) > wire.MaxInline {
		o.Blob = w.putPartial(h.Job, wire.OutputNode(o.Function), o.Data)
		o.Data, o.Sum = nil, 0
	}
	if p := item.Partial; p != nil && len(p.Data) > wire.MaxInline {
		p.Blob = w.putPartial(h.Job, p.Node, p.Data)
		p.Data, p.Sum = nil, 0
	}
	return item, err
}

// calls returns the number of the worker's calls of a function.
func (w *worker) calls(function wire.Function) (n int) {
	for _, called := range w.called {
		if called == function.String() {
			n++
		}
	}
	return n
}

func (w *worker) putPartial(job string, node engine.Node, data []byte) (blob string) {
	w.cluster.t.Helper()
	blob, err := w.cluster.store.PutPartial(context.Background(), job, node, data)
	if err != nil {
		w.cluster.t.Fatal(err)
	}
	return blob
}

func (w *worker) dropEmpty() {
	var left []wire.HeldSpan
	for _, s := range w.held {
		_, isCall := w.toCall[s.ID]
		if (isCall || !s.Span.Empty()) && !w.ended[s.Job] {
			left = append(left, s)
		}
	}
	w.held = left
}
