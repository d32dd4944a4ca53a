package executor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/deploy/local/natsserver/natstest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/session"
)

// patience is how long a test waits for an event that must happen.
const patience = time.Minute

// startServer starts a NATS server that runs until the test ends.
func startServer(t testing.TB, port int) *server.Server {
	t.Helper()
	s := runServer(t, port)
	t.Cleanup(func() { natstest.Stop(s) })
	return s
}

// runServer starts a NATS server, which the caller must stop.
func runServer(t testing.TB, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not come up")
	}
	return s
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if nc.IsClosed() {
			return
		}
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed
	})
	return nc
}

func subjects(t testing.TB) wire.Subjects {
	t.Helper()
	s, err := wire.NewSubjects("test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leader is a minimal leader: it assigns the test's orders, and keeps what workers report.
type leader struct {
	t        testing.TB
	nc       *nats.Conn
	subjects wire.Subjects
	epoch    uint64
	subs     []*nats.Subscription
	done     sync.WaitGroup // callbacks of the subscriptions

	mu         sync.Mutex
	changed    *sync.Cond
	reports    []wire.Report
	sequence   uint64
	first      []byte // bytes of the last report when it was first sent
	receipt    []byte
	next       wire.Receipt                      // orders for the next receipt
	number     uint64                            // number of the last assigned span
	received   map[string]uint64                 // number of received items, by job
	nodes      map[string]map[engine.Node][]byte // partials of nodes, by job
	blobs      map[string]map[engine.Node]string // blobs of nodes, by job
	failures   []wire.Failure
	failedJobs []string // jobs of failures
	alone      bool     // spans are assigned to run alone
	attempt    int      // number of the attempt of assigned spans
	audit      bool     // all partitions of new jobs are audited
	auditors   []string
	others     []string // workers other than w that have reported
	holds      bool     // workers may hold large partials
	durable    bool     // all received items are durable at once
	mute       int      // number of reports that get no answer
	garbled    int      // number of reports that get an invalid answer
	refuse     int      // number of reports that are refused and whose worker is forgotten
	renews     bool     // the next report 1 begins a new conversation
	every      time.Duration
}

func startLeader(t testing.TB, nc *nats.Conn, epoch uint64) *leader {
	t.Helper()
	l := &leader{
		t: t, nc: nc, subjects: subjects(t), epoch: epoch, every: 20 * time.Millisecond,
		received: map[string]uint64{}, nodes: map[string]map[engine.Node][]byte{}, blobs: map[string]map[engine.Node]string{},
	}
	l.changed = sync.NewCond(&l.mu)
	t.Cleanup(l.stop)
	for subject, hear := range map[string]nats.MsgHandler{l.subjects.Report(epoch): l.report, l.subjects.Ask(wire.AskLeader): l.tellWhoLeads} {
		sub, err := nc.Subscribe(subject, hear)
		if err != nil {
			t.Fatal(err)
		}
		l.done.Add(1)
		sub.SetClosedHandler(func(string) { l.done.Done() })
		l.subs = append(l.subs, sub)
	}
	l.beacon()
	return l
}

func (l *leader) beacon() {
	l.publish(l.subjects.Beacon(), wire.Encode(wire.Beacon{Epoch: l.epoch, Worker: "leader"}))
}

func (l *leader) tellWhoLeads(m *nats.Msg) {
	_ = m.Respond(wire.Encode(wire.LeaderInfo{Epoch: l.epoch, Worker: "leader"}))
}

func (l *leader) publish(subject string, data []byte) {
	l.t.Helper()
	if err := l.nc.Publish(subject, data); err != nil {
		l.t.Fatal(err)
	}
	if err := l.nc.Flush(); err != nil {
		l.t.Fatal(err)
	}
}

// stop ends the leader's subscriptions.
func (l *leader) stop() {
	for _, sub := range l.subs {
		_ = sub.Unsubscribe()
	}
	_ = l.nc.Flush()
	l.subs = nil
	l.done.Wait()
}

func (l *leader) report(m *nats.Msg) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.changed.Broadcast()
	r, err := wire.Decode[wire.Report](m.Data)
	if err != nil {
		l.t.Errorf("report: %v", err)
		return
	}
	if r.Worker != "w" { // an auditor, which gets no orders
		l.others = append(l.others, r.Worker)
		return
	}
	if l.refuse > 0 {
		l.refuse--
		l.sequence, l.received = 0, map[string]uint64{}
		_ = m.Respond(wire.Encode(wire.Receipt{Epoch: l.epoch, Sequence: r.Sequence, Refused: "who are you?"}))
		return
	}
	if l.renews && r.Sequence == 1 && !bytes.Equal(m.Data, l.first) {
		l.renews, l.sequence, l.received = false, 0, map[string]uint64{}
	}
	switch r.Sequence {
	case l.sequence:
		if !bytes.Equal(m.Data, l.first) {
			l.t.Errorf("report %d came again with other bytes", r.Sequence)
		}
	case l.sequence + 1:
		l.take(r)
		l.sequence, l.first = r.Sequence, bytes.Clone(m.Data)
	default:
		l.t.Errorf("report %d came after %d", r.Sequence, l.sequence)
		return
	}
	if l.mute > 0 {
		l.mute--
		return
	}
	if l.garbled > 0 {
		l.garbled--
		_ = m.Respond([]byte("no receipt"))
		return
	}
	_ = m.Respond(l.receipt)
}

func (l *leader) take(r wire.Report) {
	l.reports = append(l.reports, r)
	receipt := l.next
	l.next = wire.Receipt{}
	receipt.Epoch, receipt.Sequence, receipt.Holds = l.epoch, r.Sequence, l.holds
	if receipt.Every == 0 {
		receipt.Every = l.every
	}
	for _, j := range r.Jobs {
		for i, item := range j.Items {
			number := j.First + uint64(i)
			if r.Hello != nil && i == 0 || number == l.received[j.Job]+1 {
				l.received[j.Job] = number
			} else {
				l.t.Errorf("job %s: item %d came after %d", j.Job, number, l.received[j.Job])
			}
			l.item(j.Job, item)
		}
	}
	for job, received := range l.received {
		jr := wire.JobReceipt{Job: job, Received: received}
		if l.durable {
			jr.Durable = received
		}
		jr.Auditors = l.auditors
		if !slices.ContainsFunc(receipt.Jobs, func(o wire.JobReceipt) bool { return o.Job == job }) {
			receipt.Jobs = append(receipt.Jobs, jr)
		}
	}
	l.receipt = wire.Encode(receipt)
}

func (l *leader) item(job string, item wire.Item) {
	if item.Failure != nil {
		l.failures = append(l.failures, *item.Failure)
		l.failedJobs = append(l.failedJobs, job)
		return
	}
	if item.Held != nil || item.Output != nil {
		return // the report lists a held node too; the leader keeps no outputs
	}
	if err := item.Partial.Check(); err != nil {
		l.t.Errorf("job %s: %v", job, err)
	}
	if l.nodes[job] == nil {
		l.nodes[job], l.blobs[job] = map[engine.Node][]byte{}, map[engine.Node]string{}
	}
	l.nodes[job][item.Partial.Node] = item.Partial.Data
	l.blobs[job][item.Partial.Node] = item.Partial.Blob
}

// order adds orders to the next receipt, and nudges the worker.
func (l *leader) order(fill func(*wire.Receipt)) {
	l.t.Helper()
	l.mu.Lock()
	fill(&l.next)
	l.mu.Unlock()
	l.nudge()
}

func (l *leader) nudge() {
	l.t.Helper()
	l.publish(l.subjects.Nudge("w"), wire.Encode(wire.Nudge{Epoch: l.epoch}))
}

// assign assigns spans of a job with the given number of partitions, and returns the ID of the
// first span.
func (l *leader) assign(id string, job jobs.Job, priority int, partitions uint64, spans ...engine.Span) wire.SpanID {
	l.t.Helper()
	params, err := job.Params(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	var first wire.SpanID
	l.order(func(r *wire.Receipt) {
		r.Opens = append(r.Opens, wire.Opening{
			Job: id, Kind: wire.JobKind{Name: job.Name(), Version: job.Version()}, Params: params, Priority: priority, Partitions: partitions,
		})
		if l.audit {
			r.Opens[len(r.Opens)-1].Audit = jobs.MaxAudit
			r.Jobs = append(r.Jobs, wire.JobReceipt{Job: id, Auditors: l.auditors})
		}
		first = wire.SpanID{Epoch: l.epoch, Number: l.number + 1}
		for _, s := range spans {
			l.number++
			r.Assigned = append(r.Assigned, wire.Assignment{ID: wire.SpanID{Epoch: l.epoch, Number: l.number}, Job: id, Span: s, Alone: l.alone, Attempt: l.attempt})
		}
	})
	return first
}

// wait waits until cond returns true. The function cond is called while the leader's lock is held.
func (l *leader) wait(what string, cond func() bool) {
	l.t.Helper()
	late := time.AfterFunc(patience, func() { l.mu.Lock(); l.changed.Broadcast(); l.mu.Unlock() })
	defer late.Stop()
	deadline := time.Now().Add(patience)
	l.mu.Lock()
	defer l.mu.Unlock()
	for !cond() {
		if time.Now().After(deadline) {
			last := "none"
			if len(l.reports) > 0 {
				last = fmt.Sprintf("%+v", l.reports[len(l.reports)-1])
			}
			l.t.Fatalf("timed out waiting for: %s; last report: %.2000s", what, last)
		}
		l.changed.Wait()
	}
}

// last returns the last report. The caller of last must hold the lock.
func (l *leader) last() wire.Report {
	if len(l.reports) == 0 {
		return wire.Report{}
	}
	return l.reports[len(l.reports)-1]
}

// held returns a span of the last report, if the report contains the span. The caller of held must
// hold the lock.
func (l *leader) held(id wire.SpanID) (wire.HeldSpan, bool) {
	for _, s := range l.last().Spans {
		if s.ID == id {
			return s, true
		}
	}
	return wire.HeldSpan{}, false
}

// has reports whether every partition of s is finished. The caller of has must hold the lock.
func (l *leader) has(job string, partitions uint64, s engine.Span) bool {
	tree, _ := engine.NewTree(partitions)
	var spans []engine.Span
	for n := range l.nodes[job] {
		spans = append(spans, tree.Span(n))
	}
	slices.SortFunc(spans, func(a, b engine.Span) int { return int(int64(a.Lo - b.Lo)) })
	at := s.Lo
	for _, have := range spans {
		if have.Lo <= at && have.Hi > at {
			at = have.Hi
		}
	}
	return at >= s.Hi
}

// result merges the received nodes of a job up to the root. The caller of result must hold the
// lock.
func (l *leader) result(id string, job jobs.Job, partitions uint64) []byte {
	tree, _ := engine.NewTree(partitions)
	var partial func(n engine.Node) []byte
	partial = func(n engine.Node) []byte {
		if data, ok := l.nodes[id][n]; ok {
			return data
		}
		left, right := tree.Children(n)
		merged, err := job.Engine().Merge(l.t.Context(), nil, engine.Operand{Data: partial(tree.Lift(left))}, engine.Operand{Data: partial(tree.Lift(right))})
		if err != nil {
			l.t.Fatal(err)
		}
		return merged
	}
	return partial(tree.Root())
}

// sum is a job that adds up the numbers of its partitions plus one each. MapOne may fail a
// partition.
func sum(name string, mapOne func(ctx context.Context, partition uint64) error) jobs.Job {
	return jobs.MustNew(definition(name, mapOne, nil))
}

func definition(name string, mapOne func(ctx context.Context, partition uint64) error, onClose func()) jobs.Definition[struct{}, uint64, uint64] {
	return jobs.Definition[struct{}, uint64, uint64]{
		Name: name, Version: "1", Summary: "adds up",
		Plan: func(context.Context, struct{}) (jobs.Plan, error) { return jobs.Plan{Partitions: 1000}, nil },
		Open: func(context.Context, struct{}, jobs.Plan) (jobs.Mapper[uint64], error) {
			return mapper{mapOne, onClose}, nil
		},
		Merge:  func(left, right uint64) (uint64, error) { return left + right, nil },
		Finish: func(_ context.Context, _ struct{}, root uint64) (uint64, error) { return root, nil },
	}
}

type mapper struct {
	mapOne  func(ctx context.Context, partition uint64) error
	onClose func()
}

func (m mapper) Map(ctx context.Context, partition uint64) (uint64, error) {
	if m.mapOne == nil {
		return partition + 1, nil
	}
	return partition + 1, m.mapOne(ctx, partition)
}

func (m mapper) Close() error {
	if m.onClose != nil {
		m.onClose()
	}
	return nil
}

// noStore is the store of tests that must not use a store.
type noStore struct{ t testing.TB }

func (s noStore) Spec(context.Context, string) (store.StoredSpec, error) {
	s.t.Error("the spec was read")
	return store.StoredSpec{}, nil
}

func (s noStore) Plan(context.Context, string) (store.Plan, error) {
	s.t.Error("the plan was read")
	return store.Plan{}, nil
}

func (s noStore) PutPartial(context.Context, string, engine.Node, []byte) (string, error) {
	s.t.Error("a partial was stored")
	return "", nil
}

func (s noStore) Partial(context.Context, string, string) ([]byte, error) {
	s.t.Error("a partial was read")
	return nil, nil
}

func (s noStore) PutSpill(context.Context, string, []byte) (string, error) {
	s.t.Error("data were moved to storage")
	return "", nil
}

func (s noStore) Spill(context.Context, string, string) ([]byte, error) {
	s.t.Error("data were read from storage")
	return nil, nil
}

func (s noStore) Manifest(context.Context, string) (store.Manifest, store.Version, error) {
	s.t.Error("a manifest was read")
	return store.Manifest{}, "", nil
}

func (s noStore) DropPartial(context.Context, string, string) error {
	s.t.Error("a partial was removed")
	return nil
}

func (s noStore) DropOtherPartials(context.Context, string, map[string]bool) error {
	s.t.Error("partials were removed")
	return nil
}

// running is a worker whose Run was called.
type running struct {
	*Worker
	t    testing.TB
	stop context.CancelFunc
	end  chan error
	log  *logtest.Log
}

// startWorker runs a worker with the ID w until the test ends or stop is called.
func startWorker(t testing.TB, nc *nats.Conn, store Store, slots int, known []jobs.Job, tune func(*timing, *session.Timing), edits ...func(*Config)) *running {
	t.Helper()
	log := &logtest.Log{}
	timing := defaultTiming
	conversation := session.Timing{
		DrainTimeout:  50 * time.Millisecond,
		AnswerTimeout: 50 * time.Millisecond, // tests lose messages intentionally
		MaxBackoff:    50 * time.Millisecond,
	}
	if tune != nil {
		tune(&timing, &conversation)
	}
	cfg := Config{
		Subjects: subjects(t), ID: "w", Slots: slots, Host: "here", PID: os.Getpid(), Since: time.Now(), Jobs: known,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	w, err := newWorker(nc, store, cfg, timing, conversation)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Worker: w, t: t, stop: cancel, end: make(chan error, 1), log: log}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.end <- w.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("the worker's log:\n%s", log)
		}
	})
	return r
}

// leave stops the worker and waits for its end.
func (r *running) leave() error {
	r.t.Helper()
	r.stop()
	return r.ended()
}

// ended waits until Run returns.
func (r *running) ended() error {
	r.t.Helper()
	select {
	case err := <-r.end:
		return err
	case <-time.After(patience):
		r.t.Fatal("the worker does not end")
		return nil
	}
}
