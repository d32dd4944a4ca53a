package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// hostile is a ledger that settled at once, and whatever it is told.
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
		t.Fatal("the ledger has not settled")
	}
	return h
}

func (h *hostile) step(e Event) []Action { return h.Step(h.now, e) }

func (h *hostile) addJob(id string, partitions uint64) {
	h.step(JobAdded{Spec: store.Spec{ID: id, Job: "k", Version: "1", MaxAttempts: 3}, Partitions: partitions})
}

// report has a worker say hello and all that the report says. The report must be
// one that a leader takes.
func (h *hostile) report(r wire.Report) []Action {
	h.t.Helper()
	r.Epoch, r.Sequence = 1, 1
	r.Hello = &wire.Hello{Slots: 1, Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
	if err := r.Validate(); err != nil {
		h.t.Fatal(err)
	}
	if size := len(wire.Encode(r)); size > wire.MaxMessage {
		h.t.Fatalf("the test's report has %d bytes, which is too long", size)
	}
	var refs []Ref
	for _, j := range r.Jobs {
		for _, item := range j.Items {
			if item.Partial != nil {
				h.lastRef++
				refs = append(refs, h.lastRef)
			}
		}
	}
	return h.step(Reported{Report: r, Refs: refs})
}

// refusal is why a report was not taken, or empty.
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

// TestEverNewWorkers: names without end, each of which takes part in a job. Those
// that are silent make room for others.
func TestEverNewWorkers(t *testing.T) {
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
			h.now += 10 * time.Second // they never report again
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
		t.Errorf("the ledger remembers %d workers that are gone", n)
	}
	if n := len(h.jobs[0].contributors); n > maxDeparted+2*most {
		t.Errorf("the job remembers %d workers", n)
	}
	h.now += 2 * forgetAfter
	h.step(Tick{})
	h.step(Tick{})
	if n := len(h.departed) + len(h.workers); n > most {
		t.Errorf("after %v, the ledger remembers %d workers", 2*forgetAfter, n)
	}
}

// TestKnownWorkerIsNotRefused: the bound is for those to come.
func TestKnownWorkerIsNotRefused(t *testing.T) {
	h := newHostile(t, Config{MaxWorkers: 1})
	for range 3 { // each time, it has started over with something else to tell
		h.lastRef++
		if why := refusal(t, h.report(wire.Report{Worker: "w", Draining: h.lastRef%2 == 0})); why != "" {
			t.Errorf("refused: %s", why)
		}
	}
}

// TestScatteredNodes: a worker that claims to have finished partitions far apart
// makes the ledger keep a path for each. The job fails before that is too much.
func TestScatteredNodes(t *testing.T) {
	const most = 200_000
	h := newHostile(t, Config{MaxTreeNodes: most})
	h.addJob("j", jobs.MaxPartitions)
	ended := false
	for i := uint64(0); i < 100 && !ended; i++ {
		used := fuzztest.Allocated(func() {
			for _, a := range h.report(wire.Report{Worker: "w" + fmt.Sprint(i), Jobs: []wire.JobReport{scattered("j", i<<40, wire.MaxItems)}}) {
				if end, ok := a.(EndJob); ok {
					ended = end.Outcome == store.Failed
				}
			}
		})
		// A path of 62 places of 48 bytes for each item, and as much again for what looks
		// at them once.
		if limit := uint64(wire.MaxItems * 62 * 48 * 2); used > limit {
			t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
		}
		if n := h.jobs[0].forest.places; n > most+62 && !ended {
			t.Fatalf("the forest has %d places, at most %d are allowed", n, most)
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

// scattered are finished partitions of which no two are near one another.
func scattered(job string, from uint64, n int) wire.JobReport {
	r := wire.JobReport{Job: job, First: 1}
	for i := range uint64(n) {
		partial := wire.NewPartial(jobs.Leaf(from+i<<20), nil)
		r.Items = append(r.Items, wire.Item{Partial: &partial})
	}
	return r
}

// TestOverlappingClaims: what a worker claims to hold is looked at no further than
// it can have it, so that a claim costs little however scattered what is finished.
func TestOverlappingClaims(t *testing.T) {
	h := newHostile(t, Config{})
	h.addJob("j", 1<<40)
	h.report(wire.Report{Worker: "scatters", Jobs: []wire.JobReport{scattered("j", 0, wire.MaxItems)}})
	r := wire.Report{Worker: "claims"}
	for i := range uint64(wire.MaxSpans) {
		r.Spans = append(r.Spans, wire.HeldSpan{
			ID: wire.SpanID{Epoch: 1, Number: i + 1}, Job: "j", Span: jobs.Span{Lo: i<<20 + 1, Hi: 1 << 40},
		})
	}
	h.lastSpan = wire.MaxSpans // so that all of them may have been given
	if used, limit := fuzztest.Allocated(func() { h.report(r) }), uint64(32<<20); used > limit {
		t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
	}
	if h.byID["j"].held.len() == 0 {
		t.Error("nothing that was claimed is held")
	}
}

// TestUnknownJobs: of the jobs that a worker makes up, only so many are asked
// about at a time, and only so many remembered.
func TestUnknownJobs(t *testing.T) {
	h := newHostile(t, Config{})
	inquiries := 0
	for round := range 5 {
		r := wire.Report{Worker: fmt.Sprintf("w%d", round)}
		for i := range wire.MaxJobs {
			r.Jobs = append(r.Jobs, wire.JobReport{Job: fmt.Sprintf("%d-%d", round, i), First: 1})
		}
		for i := range wire.MaxSpans {
			r.Spans = append(r.Spans, wire.HeldSpan{ID: wire.SpanID{Epoch: 1, Number: uint64(i) + 1}, Job: fmt.Sprintf("s%d-%d", round, i), Span: jobs.Span{Hi: 1}})
		}
		var actions []Action
		// The report itself, and what tells it from another one.
		if used, limit := fuzztest.Allocated(func() { actions = h.report(r) }), uint64(48<<20); used > limit {
			t.Errorf("one report made the ledger allocate %d bytes, limit %d", used, limit)
		}
		asked := 0
		for _, a := range actions {
			if a, ok := a.(LookUpJob); ok {
				asked++
				inquiries++
				h.step(JobEnded(a))
			}
		}
		if asked > maxAsked {
			t.Errorf("one report has %d jobs inquired about, at most %d are allowed", asked, maxAsked)
		}
	}
	for i := range 2 * maxOver {
		h.step(JobEnded{Job: fmt.Sprint("over", i)})
	}
	if len(h.absent.over) > maxOver || len(h.absent.order) > maxOver || len(h.absent.asked) > maxAsked || len(h.absent.parked) > 0 {
		t.Errorf("the ledger remembers %d jobs that are over, %d asked about and %d parked", len(h.absent.over), len(h.absent.asked), len(h.absent.parked))
	}
	if inquiries == 0 {
		t.Error("nothing was inquired about")
	}
}

// TestFailuresWithoutEnd: partitions that fail are kept account of one by one, and
// so are those skipped, however many the submitter allows. The job fails where they
// are many.
func TestFailuresWithoutEnd(t *testing.T) {
	for name, spec := range map[string]store.Spec{
		"tried again": {MaxAttempts: 3},
		"skipped":     {MaxAttempts: 1, MaxSkipped: 1 << 60},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHostile(t, Config{MaxFailing: 100, MaxSkipped: 100})
			spec.ID, spec.Job, spec.Version = "j", "k", "1"
			h.step(JobAdded{Spec: spec, Partitions: 1 << 40})
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
			if j := h.jobs[0]; !ended || len(j.attempts.list) > 101 || len(j.skipped) > 100 {
				t.Errorf("ended %v, with %d failing and %d skipped partitions", ended, len(j.attempts.list), len(j.skipped))
			}
		})
	}
}

// TestAnswersFit: what the command line is told fits a message, whatever jobs the
// leader works on and however many partitions they skipped.
func TestAnswersFit(t *testing.T) {
	h := newHostile(t, Config{})
	for i := range 64 {
		id := fmt.Sprintf("%016d", i)
		h.addJob(id, 1<<40)
		for p := range uint64(5000) {
			h.byID[id].skipped = append(h.byID[id].skipped, 1<<39+p)
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
