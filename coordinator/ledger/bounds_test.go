package ledger

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// hostile is a ledger after its recovery, for reports with extreme sizes.
type hostile struct {
	*Ledger
	t       *testing.T
	now     time.Duration
	lastRef Ref
}

func newHostile(t *testing.T, cfg Config) *hostile {
	t.Helper()
	cfg.Epoch, cfg.Self = 1, "leader"
	l, err := New(cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{Ledger: l, t: t, now: time.Second}
	h.step(Tick{})
	if !l.Recovered() {
		t.Fatal("recovery is not over")
	}
	return h
}

func (h *hostile) step(e Event) []Action { return h.Step(h.now, e) }

func (h *hostile) addJob(id string, partitions uint64) {
	h.step(JobAdded{Spec: store.Spec{ID: id, Job: "k", Version: "1", MaxAttempts: 3}, Plan: Plan{Partitions: partitions}, CanMerge: true})
}

// report passes a report with a hello to the ledger. The report must be valid and fit into a
// message.
func (h *hostile) report(r wire.Report) []Action {
	h.t.Helper()
	r.Epoch, r.Sequence = 1, 1
	r.Hello = &wire.Hello{Slots: 1, Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
	if err := r.Validate(); err != nil {
		h.t.Fatal(err)
	}
	if size := len(wire.Encode(r)); size > wire.MaxMessage {
		h.t.Fatalf("the test's report has %d bytes, which is too many", size)
	}
	return h.step(reported(r, func() Ref { h.lastRef++; return h.lastRef }))
}

// refusal returns the reason why a report was refused, or "".
func refusal(t *testing.T, actions []Action) string {
	t.Helper()
	for _, a := range actions {
		if reply, ok := a.(Reply); ok {
			return reply.Receipt.Refused
		}
	}
	t.Fatal("no reply")
	return ""
}

// TestManyWorkerNames sends reports under many different worker IDs, each with a partial of a job.
// Silent workers are removed to make room for others, and the ledger finally forgets them.
func TestManyWorkerNames(t *testing.T) {
	const most = 500
	h := newHostile(t, Config{MaxWorkers: most})
	h.addJob("j", 1<<40)
	joined, refused := 0, 0
	for i := range 40 * most {
		actions := h.report(wire.Report{Worker: fmt.Sprintf("w%d", i), Jobs: []wire.JobReport{{Job: "j", First: 1}}})
		if refusal(t, actions) == "" {
			joined++
		} else {
			refused++
		}
		if i%(2*most) == 0 {
			h.now += 10 * time.Second // none of the workers reports again
			h.step(Tick{})
		}
		if len(h.workers) > most {
			t.Fatalf("the ledger has %d workers, at most %d are allowed", len(h.workers), most)
		}
	}
	if joined < maxDeparted || refused == 0 {
		t.Errorf("%d joined and %d were refused: want some of both", joined, refused)
	}
	h.step(Tick{})
	if n := len(h.departed); n > maxDeparted+most {
		t.Errorf("the ledger keeps %d departed workers", n)
	}
	if n := len(h.jobs[0].contributors); n > maxDeparted+2*most {
		t.Errorf("the job keeps %d contributors", n)
	}
	h.now += 2 * keepDeparted
	h.step(Tick{})
	h.step(Tick{})
	if n := len(h.departed) + len(h.workers); n > most {
		t.Errorf("after %v, the ledger keeps %d workers", 2*keepDeparted, n)
	}
}

// TestKnownWorkerIsNotRefused restarts a worker while the ledger has its maximum number of workers.
func TestKnownWorkerIsNotRefused(t *testing.T) {
	h := newHostile(t, Config{MaxWorkers: 1})
	for range 3 {
		h.lastRef++
		if why := refusal(t, h.report(wire.Report{Worker: "w", Draining: h.lastRef%2 == 0})); why != "" {
			t.Errorf("refused: %s", why)
		}
	}
}

// TestScatteredNodes reports finished partitions that are far apart, so that each one needs a
// separate path in the forest. The job fails at the limit of tree nodes.
func TestScatteredNodes(t *testing.T) {
	const most = 200_000
	h := newHostile(t, Config{MaxTreeNodes: most})
	h.addJob("j", engine.MaxPartitions)
	ended := false
	for i := uint64(0); i < 100 && !ended; i++ {
		used := fuzztest.Allocated(func() {
			for _, a := range h.report(wire.Report{Worker: "w" + fmt.Sprint(i), Jobs: []wire.JobReport{scattered("j", i<<40, wire.MaxItems)}}) {
				if end, ok := a.(EndJob); ok {
					ended = end.Outcome == store.Failed
				}
			}
		})
		// Each item needs a path of 62 tree nodes of 48 bytes, and as much again for temporary
		// slices.
		if limit := uint64(wire.MaxItems * 62 * 48 * 2); used > limit {
			t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
		}
		if n := h.jobs[0].forest.treeNodes; n > most+62 && !ended {
			t.Fatalf("the forest has %d tree nodes, at most %d are allowed", n, most)
		}
	}
	if !ended {
		t.Error("the job has not failed")
	}
	h.step(JobEnded{Job: "j"})
	if len(h.jobs) != 0 {
		t.Error("the job is still there")
	}
}

// scattered reports n finished partitions that are far apart.
func scattered(job string, from uint64, n int) wire.JobReport {
	r := wire.JobReport{Job: job, First: 1}
	for i := range uint64(n) {
		partial := wire.NewPartial(engine.Leaf(from+i<<20), nil)
		r.Items = append(r.Items, wire.Item{Partial: &partial})
	}
	return r
}

// TestOverlappingClaims reports many long spans over a forest of scattered nodes. The ledger
// examines a span only up to the first partition that the worker cannot get.
func TestOverlappingClaims(t *testing.T) {
	h := newHostile(t, Config{})
	h.addJob("j", 1<<40)
	h.report(wire.Report{Worker: "scatters", Jobs: []wire.JobReport{scattered("j", 0, wire.MaxItems)}})
	r := wire.Report{Worker: "claims"}
	for i := range uint64(wire.MaxSpans) {
		r.Spans = append(r.Spans, wire.HeldSpan{
			ID: wire.SpanID{Epoch: 1, Number: i + 1}, Job: "j", Span: engine.Span{Lo: i<<20 + 1, Hi: 1 << 40},
		})
	}
	h.lastNumber = wire.MaxSpans // act as if this ledger had assigned the spans
	if used, limit := fuzztest.Allocated(func() { h.report(r) }), uint64(32<<20); used > limit {
		t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
	}
	if h.jobsByID["j"].assignments.len() == 0 {
		t.Error("no span was adopted")
	}
}

// TestUnknownJobs reports jobs that do not exist. The ledger bounds the lookups in flight
// and the IDs that it keeps.
func TestUnknownJobs(t *testing.T) {
	h := newHostile(t, Config{})
	lookups := 0
	for round := range 5 {
		r := wire.Report{Worker: fmt.Sprintf("w%d", round)}
		for i := range wire.MaxJobs {
			r.Jobs = append(r.Jobs, wire.JobReport{Job: fmt.Sprintf("%d-%d", round, i), First: 1})
		}
		for i := range wire.MaxSpans {
			r.Spans = append(r.Spans, wire.HeldSpan{ID: wire.SpanID{Epoch: 1, Number: uint64(i) + 1}, Job: fmt.Sprintf("s%d-%d", round, i), Span: engine.Span{Hi: 1}})
		}
		var actions []Action
		// The map of the reported spans takes most of the memory.
		if used, limit := fuzztest.Allocated(func() { actions = h.report(r) }), uint64(48<<20); used > limit {
			t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
		}
		inFlight := 0
		for _, a := range actions {
			if a, ok := a.(LookUpJob); ok {
				inFlight++
				lookups++
				h.step(JobEnded(a))
			}
		}
		if inFlight > maxLookups {
			t.Errorf("one report starts %d lookups, at most %d are allowed", inFlight, maxLookups)
		}
	}
	for i := range 2 * maxEnded {
		h.step(JobEnded{Job: fmt.Sprint("ended", i)})
	}
	if u := h.unknownJobs; len(u.ended) > maxEnded || len(u.endedOrder) > maxEnded || len(u.lookups) > maxLookups || len(u.parked) > 0 {
		t.Errorf("the ledger keeps %d ended jobs, %d lookups and %d parked jobs", len(u.ended), len(u.lookups), len(u.parked))
	}
	if lookups == 0 {
		t.Error("no job was looked up")
	}
}

// TestManyFailures fails many partitions. The ledger keeps an entry for each failed or skipped
// partition, so the job fails at the limits of these entries, whatever its submitter allows.
func TestManyFailures(t *testing.T) {
	for name, spec := range map[string]store.Spec{
		"retried": {MaxAttempts: 3},
		"skipped": {MaxAttempts: 1, MaxSkipped: 1 << 60},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, Config{MaxFailing: 100, MaxSkipped: 100})
			spec.ID, spec.Job, spec.Version = "j", "k", "1"
			h.step(JobAdded{Spec: spec, Plan: Plan{Partitions: 1 << 40}, CanMerge: true})
			r := wire.Report{Worker: "w", Jobs: []wire.JobReport{{Job: "j", First: 1}}}
			for i := range uint64(1000) {
				r.Jobs[0].Items = append(r.Jobs[0].Items, wire.Item{Failure: &wire.Failure{Partition: i << 20, Error: "bad"}})
			}
			ended := false
			for _, a := range h.report(r) {
				if end, ok := a.(EndJob); ok {
					ended = end.Outcome == store.Failed
				}
			}
			if j := h.jobs[0]; !ended || j.queue.failed.list.len > 101 || j.skipped.len > 100 {
				t.Errorf("ended %v, with %d failing and %d skipped partitions", ended, j.queue.failed.list.len, j.skipped.len)
			}
		})
	}
}

// TestManyFailuresOfASkippingJob fails many partitions of a job whose submitter allows this many to
// be skipped. The job continues, and a failed partition takes little memory.
func TestManyFailuresOfASkippingJob(t *testing.T) {
	const many = 200_000
	h := newHostile(t, Config{})
	h.step(JobAdded{Spec: store.Spec{ID: "j", Job: "k", Version: "1", MaxAttempts: 3, MaxSkipped: many}, Plan: Plan{Partitions: 1 << 40}})
	before := liveHeap()
	var failed []uint64
	for i := range uint64(20) {
		r := wire.Report{Worker: fmt.Sprint("w", i), Jobs: []wire.JobReport{{Job: "j", First: 1}}}
		for p := range uint64(many / 20) { // the partitions of all reports are interleaved
			failed = append(failed, 1000*p+i*7%20)
			r.Jobs[0].Items = append(r.Jobs[0].Items, wire.Item{Failure: &wire.Failure{Partition: 1000*p + i*7%20, Error: "bad"}})
		}
		h.report(r)
	}
	j := h.jobs[0]
	if j.ending() || j.queue.failed.list.len != many {
		t.Fatalf("ending %v, with %d failed partitions", j.ending(), j.queue.failed.list.len)
	}
	j.queue.fresh.remove(engine.Span{Hi: 1 << 40}) // act as if all partitions had been assigned
	for _, p := range failed {
		h.enqueue(j, single(p), 0)
	}
	h.now += time.Second
	h.step(Tick{})
	if n := j.queue.failed.retries.len; n != many {
		t.Errorf("%d failed partitions are queued", n)
	}
	if used := (liveHeap() - before) / many; used > 200 {
		t.Errorf("each failed partition takes %d bytes", used)
	}
	w := h.worker("w2")
	for range 1000 {
		f := h.dueRetry(w, j)
		if f == nil || f.avoidWorker == "w2" || !f.queued {
			t.Fatalf("w2 is given %+v", f)
		}
		j.queue.failed.setQueued(f, false)
	}
	h.finish(j, FinishedNode{Node: j.tree.Root(), Ref: 1}, true)
	if n := j.queue.failed.list.len + j.queue.failed.retries.len; n > 0 {
		t.Errorf("%d entries of failed partitions are left", n)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestErrorsOfManyFailures fails many partitions, each with a long error that contains its number.
// A checkpoint contains some of the errors and counts the others.
func TestErrorsOfManyFailures(t *testing.T) {
	h := newHostile(t, Config{})
	h.addJob("j", 1<<40)
	var last Snapshot
	const many = 200
	for i := range uint64(40) {
		r := wire.Report{Worker: fmt.Sprint("w", i), Jobs: []wire.JobReport{{Job: "j", First: 1}}}
		for p := i * many; p < (i+1)*many; p++ {
			text := fmt.Sprintf("no object %d", p)
			if p%many < 20 {
				text = "no disk"
			}
			text += "\n" + strings.Repeat("stack ", wire.MaxErrorText/6-10)
			r.Jobs[0].Items = append(r.Jobs[0].Items, wire.Item{Failure: &wire.Failure{Partition: p, Error: text}})
		}
		h.report(r)
	}
	h.now += time.Second
	for _, a := range append(h.step(Checkpointed{Job: "j"}), h.step(Tick{})...) {
		if c, ok := a.(Checkpoint); ok {
			last = c.Snapshot
		}
	}
	if len(last.Attempts) != 40*many {
		t.Errorf("the checkpoint has %d partitions that failed", len(last.Attempts))
	}
	if size := len(fmt.Sprint(last)); size > 40*many*10+20*maxErrorText {
		t.Errorf("the checkpoint of %d failures has about %d bytes", 40*many, size)
	}
	counted := last.OtherErrors
	for _, e := range last.Errors {
		counted += e.Count
	}
	if e := last.Errors[0]; counted != 40*many || e.Count != 40*20 || !strings.HasPrefix(e.Text, "no disk\nstack") || e.Partition != 39*many+19 {
		t.Errorf("%d of %d failures are counted, most of them %.30q, %d times, last in partition %d", counted, 40*many, e.Text, e.Count, e.Partition)
	}
	// The checkpoint contains the error of the last report and the most frequent error.
	if newest := last.Errors[len(last.Errors)-1]; len(last.Errors) != maxErrorTexts || firstLine(newest.Text) != fmt.Sprint("no object ", 40*many-1) {
		t.Errorf("the newest of %d errors is %.30q", len(last.Errors), newest.Text)
	}

	next := newHostile(t, Config{})
	next.step(JobAdded{
		Spec: store.Spec{ID: "j", Job: "k", Version: "1", MaxAttempts: 3}, Plan: Plan{Partitions: 1 << 40},
		Snapshot: Snapshot{Work: store.Work{
			Attempts: append(last.Attempts, store.Attempt{Partition: 1 << 30, Failed: 1, Error: "text of an earlier version"}),
			Errors:   last.Errors, OtherErrors: last.OtherErrors,
		}},
	})
	if e := &next.jobs[0].errors; e.others != last.OtherErrors+1 || e.sorted()[0] != last.Errors[0] || e.list[maxErrorTexts-1].Text != "text of an earlier version" {
		t.Errorf("resumed with %d other errors and %+v", e.others, e.list)
	}
}

// TestJobsFitAMessage encodes the maximum of active jobs with many skipped partitions.
func TestJobsFitAMessage(t *testing.T) {
	h := newHostile(t, Config{})
	for i := range 64 {
		id := fmt.Sprintf("%016d", i)
		h.addJob(id, 1<<40)
		for p := range uint64(5000) {
			h.jobsByID[id].skipped.insert(skippedPartition(1<<39 + p))
		}
	}
	answer := wire.Encode(wire.Jobs{Epoch: 1, Jobs: h.Jobs()})
	if len(answer) > wire.MaxMessage {
		t.Errorf("the answer has %d bytes, at most %d are allowed", len(answer), wire.MaxMessage)
	}
	if _, err := wire.Decode[wire.Jobs](answer); err != nil {
		t.Error(err)
	}
}
