package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

func TestReportValidateRefuses(t *testing.T) {
	partial := func(p Partial) func(*Report) {
		return func(r *Report) { r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{Partial: &p}}}} }
	}
	for name, spoil := range map[string]func(*Report){
		"no epoch":             func(r *Report) { r.Epoch = 0 },
		"no worker":            func(r *Report) { r.Worker = "" },
		"worker with a dot":    func(r *Report) { r.Worker = "a.b" },
		"no sequence":          func(r *Report) { r.Sequence = 0 },
		"first, no hello":      func(r *Report) { r.Hello = nil },
		"later, with hello":    func(r *Report) { r.Sequence = 2 },
		"no slots":             func(r *Report) { r.Hello = &Hello{} },
		"too many slots":       func(r *Report) { r.Hello = &Hello{Slots: MaxSlots + 1} },
		"host's name too long": func(r *Report) { r.Hello = &Hello{Slots: 1, Host: strings.Repeat("h", MaxHost+1)} },
		"too many definitions": func(r *Report) { r.Hello = &Hello{Slots: 1, Knows: make([]JobKind, MaxKinds+1)} },
		"version too long":     func(r *Report) { r.Hello = &Hello{Slots: 1, Version: strings.Repeat("v", MaxVersion+1)} },
		"build too long":       func(r *Report) { r.Hello = &Hello{Slots: 1, Build: strings.Repeat("b", MaxBuild+1)} },
		"identity too long":    func(r *Report) { r.Hello = &Hello{Slots: 1, Storage: strings.Repeat("0", MaxName+1)} },
		"definition's name too long": func(r *Report) {
			r.Hello = &Hello{Slots: 1, Knows: []JobKind{{Name: strings.Repeat("n", MaxName+1)}}}
		},
		"definition's version too long": func(r *Report) {
			r.Hello = &Hello{Slots: 1, Knows: []JobKind{{Version: strings.Repeat("1", MaxName+1)}}}
		},
		"too many spans":      func(r *Report) { r.Spans = manySpans(MaxSpans + 1) },
		"too many jobs":       func(r *Report) { r.Jobs = manyJobs(MaxJobs+1, 0) },
		"too many items":      func(r *Report) { r.Jobs = manyJobs(MaxItems/100+1, 100) },
		"span without ID":     func(r *Report) { r.Spans = []HeldSpan{{Job: "j", Span: engine.Span{Hi: 1}}} },
		"span without job":    func(r *Report) { r.Spans = []HeldSpan{{ID: SpanID{1, 1}, Span: engine.Span{Hi: 1}}} },
		"empty span":          func(r *Report) { r.Spans = []HeldSpan{{ID: SpanID{1, 1}, Job: "j", Span: engine.Span{Lo: 4, Hi: 4}}} },
		"span turned round":   func(r *Report) { r.Spans = []HeldSpan{{ID: SpanID{1, 1}, Job: "j", Span: engine.Span{Lo: 5, Hi: 4}}} },
		"span beyond all":     func(r *Report) { r.Spans = []HeldSpan{{ID: SpanID{1, 1}, Job: "j", Span: engine.Span{Hi: 1<<62 + 1}}} },
		"spans, but more":     func(r *Report) { r.More = true },
		"long step":           func(r *Report) { r.Spans[0].Step = strings.Repeat("x", 17) },
		"nodes, but more":     func(r *Report) { r.More, r.Spans = true, nil },
		"too many nodes":      func(r *Report) { r.Nodes = make([]HeldNode, MaxNodes+1) },
		"server ID too long":  func(r *Report) { r.Server = strings.Repeat("N", maxServer+1) },
		"node held twice":     func(r *Report) { r.Nodes = append(r.Nodes, r.Nodes[0]) },
		"node without a job":  func(r *Report) { r.Nodes = []HeldNode{{}} },
		"held node too high":  func(r *Report) { r.Nodes = []HeldNode{{Job: "j", Node: engine.Node{Level: 63}}} },
		"span twice":          func(r *Report) { r.Spans = append(r.Spans, r.Spans[0]) },
		"job without name":    func(r *Report) { r.Jobs = []JobReport{{First: 1}} },
		"job's name too long": func(r *Report) { r.Jobs = []JobReport{{Job: strings.Repeat("j", MaxJobID+1), First: 1}} },
		"job twice":           func(r *Report) { r.Jobs = append(r.Jobs, r.Jobs[0]) },
		"items from 0":        func(r *Report) { r.Jobs = []JobReport{{Job: "j"}} },
		"items past the end":  func(r *Report) { r.Jobs = []JobReport{{Job: "j", First: 1<<64 - 1, Items: r.Jobs[0].Items}} },
		"item of less than no time": func(r *Report) {
			r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{Partial: &Partial{}, Took: -1}}}}
		},
		"failure of less than no time": func(r *Report) {
			r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{Failure: &Failure{Took: -1}}}}}
		},
		"item of nothing": func(r *Report) { r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{}}}} },
		"item of both": func(r *Report) {
			r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{Partial: &Partial{}, Failure: &Failure{}}}}}
		},
		"failure too long": func(r *Report) {
			r.Jobs = []JobReport{{Job: "j", First: 1, Items: []Item{{Failure: &Failure{Error: strings.Repeat("x", MaxErrorText+1)}}}}}
		},
		"report of an operand": partial(Partial{Holder: "w-2"}),
		"stored nowhere":       partial(Partial{Stored: true}),
		"node too high":        partial(Partial{Node: engine.Node{Level: 63}}),
		"node too far":         partial(Partial{Node: engine.Node{Level: 62, Index: 1}}),
		"data and blob":        partial(Partial{Data: []byte{1}, Blob: fullReport.Jobs[0].Items[1].Partial.Blob}),
		"blob not in hex":      partial(Partial{Blob: strings.Repeat("x", 64)}),
		"blob of no SHA-2":     partial(Partial{Blob: "abcd"}),
	} {
		r := fullReport
		spoil(&r)
		if err := r.Validate(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}

// TestValidateAcceptsTheMost checks that a report with the maximum number of spans, jobs and items
// is valid and fits in a message.
func TestValidateAcceptsTheMost(t *testing.T) {
	hello := Hello{Slots: MaxSlots, Host: strings.Repeat("h", MaxHost), Build: strings.Repeat("b", MaxBuild), Version: strings.Repeat("v", MaxVersion), Knows: make([]JobKind, MaxKinds)}
	for name, r := range map[string]Report{
		"definitions": {Hello: &hello},
		"spans":       {Hello: &hello, Spans: manySpans(MaxSpans)},
		"jobs":        {Hello: &hello, Jobs: manyJobs(MaxJobs, 0)},
		"items":       {Hello: &hello, Jobs: manyJobs(1, MaxItems)},
	} {
		r.Epoch, r.Worker, r.Sequence = 1, "w", 1
		if _, err := Decode[Report](Encode(r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func manySpans(n int) []HeldSpan {
	spans := make([]HeldSpan, n)
	for i := range spans {
		spans[i] = HeldSpan{ID: SpanID{1, uint64(i) + 1}, Job: "0123456789abcdef", Span: engine.Span{Lo: uint64(i), Hi: uint64(i) + 1}}
	}
	return spans
}

// manyJobs returns reports of n jobs with the given number of items each.
func manyJobs(n, items int) []JobReport {
	list := make([]JobReport, n)
	for i := range list {
		list[i] = JobReport{Job: fmt.Sprintf("%016d", i), First: 1}
		for p := range items {
			partial := NewPartial(engine.Leaf(uint64(p)), nil)
			list[i].Items = append(list[i].Items, Item{Partial: &partial})
		}
	}
	return list
}

func TestReceiptValidateRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Receipt){
		"no epoch":              func(r *Receipt) { r.Epoch = 0 },
		"no sequence":           func(r *Receipt) { r.Sequence = 0 },
		"negative interval":     func(r *Receipt) { r.Every = -1 },
		"opening without a job": func(r *Receipt) { r.Opens = []Opening{{Partitions: 1}} },
		"too many partitions":   func(r *Receipt) { r.Opens = []Opening{{Job: "j", Partitions: 1<<62 + 1}} },
		"assigned nothing":      func(r *Receipt) { r.Assigned = []Assignment{{ID: SpanID{1, 1}, Job: "j"}} },
		"assigned without ID":   func(r *Receipt) { r.Assigned = []Assignment{{Job: "j", Span: engine.Span{Hi: 1}}} },
		"call of Map":           func(r *Receipt) { r.Assigned = []Assignment{{ID: SpanID{1, 1}, Job: "j", Call: &Call{}}} },
		"call with partitions": func(r *Receipt) {
			r.Assigned = []Assignment{{ID: SpanID{1, 1}, Job: "j", Span: engine.Span{Hi: 1}, Call: &Call{Function: Plan}}}
		},
		"receipt of no job":  func(r *Receipt) { r.Jobs = []JobReceipt{{}} },
		"too many auditors":  func(r *Receipt) { r.Jobs = []JobReceipt{{Job: "j", Auditors: make([]string, MaxAuditors+1)}} },
		"auditor without ID": func(r *Receipt) { r.Jobs = []JobReceipt{{Job: "j", Auditors: []string{""}}} },
	} {
		r := fullReceipt
		spoil(&r)
		if err := r.Validate(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}

func TestPartialCheck(t *testing.T) {
	// 0xe3069283 is the check value of CRC-32C in Williams, "A Painless Guide to CRC Error
	// Detection Algorithms".
	if got := Checksum([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("checksum of the check string: got %08x, want e3069283", got)
	}
	p := NewPartial(engine.Leaf(3), []byte("abc"))
	if err := p.Check(); err != nil {
		t.Errorf("whole: %v", err)
	}
	p.Data = []byte("abd")
	if err := p.Check(); !errors.Is(err, ErrMalformed) {
		t.Errorf("spoilt: got %v, want ErrMalformed", err)
	}
}

func TestSubjects(t *testing.T) {
	s, err := NewSubjects("blue-1")
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		s.Report(12):     "bellwether.blue-1.epoch.12.report",
		s.Ping(12):       "bellwether.blue-1.epoch.12.ping",
		s.Beacon():       "bellwether.blue-1.beacon",
		s.Suspicion():    "bellwether.blue-1.suspicion",
		s.Nudge("w"):     "bellwether.blue-1.worker.w.nudge",
		s.Probe("w"):     "bellwether.blue-1.worker.w.probe",
		s.Offer("w"):     "bellwether.blue-1.worker.w.offer",
		s.Ask(AskLeader): "bellwether.blue-1.ask.leader",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, bad := range []string{"", "a.b", "A", "-a", "a*", ">", strings.Repeat("a", 41)} {
		if _, err := NewSubjects(bad); err == nil {
			t.Errorf("cluster name %q was accepted", bad)
		}
		if bad != strings.Repeat("a", 41) && ValidWorker(bad) {
			t.Errorf("worker ID %q was accepted", bad)
		}
	}
}

func TestAuditValidate(t *testing.T) {
	request := AuditRequest{Opening: Opening{Job: "j", Partitions: 9}, Partitions: []uint64{0, 8}}
	answer := AuditAnswer{Sums: [][]byte{make([]byte, 32), make([]byte, 32)}}
	if err := errors.Join(request.Validate(), answer.Validate(), AuditAnswer{Working: true}.Validate(), AuditAnswer{}.Validate()); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*AuditRequest){
		"no job":              func(r *AuditRequest) { r.Opening.Job = "" },
		"no partitions":       func(r *AuditRequest) { r.Partitions = nil },
		"too many partitions": func(r *AuditRequest) { r.Partitions = make([]uint64, MaxAudited+1) },
		"outside the job":     func(r *AuditRequest) { r.Partitions = []uint64{9} },
	} {
		r := request
		spoil(&r)
		if err := r.Validate(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
	for name, a := range map[string]AuditAnswer{
		"short sum":  {Sums: [][]byte{make([]byte, 32), make([]byte, 31)}},
		"long error": {Failure: &Failure{Error: strings.Repeat("e", MaxErrorText+1)}},
	} {
		if err := a.Validate(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}
