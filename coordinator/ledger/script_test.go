package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestScripts runs the scripts in testdata, one per behaviour. With -rewrite it
// writes what the ledger says into them. What a script may say:
//
//	new [epoch=N] [self=W]          a ledger; all but its instant begins anew
//	add JOB partitions=N [priority=N] [attempts=N] [skip=N] [died]
//	    node 2/0 | node 0/4 -       what the manifest has; - is a skipped one
//	    worker W N | suspect LO-HI DEATHS | attempt P N | executed N
//	report W [hello=SLOTS] [seq=N] [draining] [more]
//	    JOB FIRST: 2/0 !5 !!6 open!  items: nodes, failures, permanent and open ones
//	    1.3 JOB 0-10 *              a held span; * where it runs
//	tick D [times=N]                time passes, and a tick comes at its end
//	died W, merged JOB, merge-failed JOB, checkpointed JOB, ended JOB, parked JOB, cancel JOB, stop
//	books, jobs, workers, saved     print what the ledger has
//
// The sequence of a report is one more than the last, and 1 with a hello, and its
// conversation is that of the last unless talk=N says another. Each action is a line
// of output, but for DropPartial, of which the number is printed.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t        *testing.T
	ledger   *Ledger
	now      time.Duration
	sequence map[string]uint64
	talk     map[string]uint64
	lastRef  Ref
	merges   map[string][]Merge
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.t = t
	arg := func(name string, otherwise uint64) uint64 {
		for _, a := range d.CmdArgs {
			if a.Key == name {
				return s.number(a.Vals[0])
			}
		}
		return otherwise
	}
	subject := ""
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		subject = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "new":
		cfg := Config{Epoch: arg("epoch", 1), Self: "w1"}
		d.MaybeScanArgs(t, "self", &cfg.Self)
		l, err := New(cfg, s.now)
		if err != nil {
			t.Fatal(err)
		}
		*s = script{t: t, ledger: l, now: s.now, sequence: map[string]uint64{}, talk: map[string]uint64{}, merges: map[string][]Merge{}, lastRef: s.lastRef}
		return ""
	case "add":
		return s.step(s.jobAdded(d, subject, arg))
	case "report":
		r := wire.Report{
			Epoch: s.ledger.cfg.Epoch, Worker: subject, Sequence: s.sequence[subject] + 1,
			Draining: d.HasArg("draining"), More: d.HasArg("more"),
		}
		if slots := arg("hello", 0); slots > 0 {
			r.Sequence = 1
			r.Hello = &wire.Hello{Slots: int(slots), Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
		}
		r.Sequence = arg("seq", r.Sequence)
		r.Conversation = arg("talk", s.talk[subject])
		s.talk[subject] = r.Conversation
		s.sequence[subject] = r.Sequence
		return s.step(s.reported(d, r))
	case "tick":
		out := ""
		after, err := time.ParseDuration(subject)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		for range arg("times", 1) {
			s.now += after
			out += s.step(Tick{})
		}
		return out
	case "died":
		return s.step(WorkerDied{subject})
	case "merged":
		out := ""
		for len(s.merges[subject]) > 0 {
			m := s.merges[subject][0]
			s.merges[subject] = s.merges[subject][1:]
			s.lastRef++
			out += s.step(Merged{subject, m.Node, s.lastRef})
		}
		return out
	case "merge-failed":
		return s.step(MergeFailed{subject, "merge: bad operands"})
	case "checkpointed":
		return s.step(Checkpointed{subject})
	case "ended":
		return s.step(JobEnded{subject})
	case "parked":
		return s.step(JobParked{subject})
	case "cancel":
		return s.step(JobCancelled{subject})
	case "stop":
		return s.step(Stopping{})
	case "books":
		return briefBooks(s.ledger)
	case "jobs":
		var b strings.Builder
		for _, p := range s.ledger.Jobs() {
			fmt.Fprintf(&b, "%s %s %d/%d executed=%d skipped=%v rate=%.0f workers=%d trouble=%q\n", p.Job, p.State, p.Done, p.Partitions, p.Executed, p.Skipped, p.Rate, p.Workers, p.Trouble)
		}
		return b.String()
	case "workers":
		var b strings.Builder
		for _, w := range s.ledger.Workers() {
			fmt.Fprintf(&b, "%s slots=%d %s leader=%v\n", w.ID, w.Slots, w.State, w.Leader)
		}
		return b.String()
	case "saved":
		return fmt.Sprintln(s.ledger.AllDurable())
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// step steps the ledger and prints its actions.
func (s *script) step(e Event) string {
	var b strings.Builder
	forgotten := 0
	for _, a := range s.ledger.Step(s.now, e) {
		switch a := a.(type) {
		case DropPartial:
			forgotten++
			continue
		case Merge:
			s.merges[a.Job] = append(s.merges[a.Job], a)
		}
		fmt.Fprintln(&b, brief(a))
	}
	if forgotten > 0 {
		fmt.Fprintf(&b, "forget %d\n", forgotten)
	}
	return b.String()
}

func (s *script) jobAdded(d *datadriven.TestData, job string, arg func(string, uint64) uint64) JobAdded {
	e := JobAdded{
		Spec: store.Spec{
			ID: job, Job: "k", Version: "1",
			MaxAttempts: int(arg("attempts", 3)), MaxSkipped: arg("skip", 0),
		},
		Partitions: arg("partitions", 0), LeaderDied: d.HasArg("died"),
	}
	d.MaybeScanArgs(s.t, "priority", &e.Spec.Priority)
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		switch f[0] {
		case "node":
			n := FinishedNode{Node: s.node(f[1])}
			if len(f) == 2 {
				s.lastRef++
				n.Ref = s.lastRef
			}
			e.Nodes = append(e.Nodes, n)
		case "worker":
			e.Workers = append(e.Workers, store.Contributor{Worker: f[1], Through: s.number(f[2])})
		case "suspect":
			deaths, led, _ := strings.Cut(f[2]+"/0", "/")
			led, _, _ = strings.Cut(led, "/")
			e.Suspects = append(e.Suspects, store.Suspect{Span: s.span(f[1]), Deaths: int(s.number(deaths)), Led: int(s.number(led))})
		case "attempt":
			e.Attempts = append(e.Attempts, store.Attempt{Partition: s.number(f[1]), Failed: int(s.number(f[2]))})
		case "executed":
			e.Executed = s.number(f[1])
		case "skipped":
			e.Skipped = append(e.Skipped, s.number(f[1]))
		default:
			d.Fatalf(s.t, "unknown line %q", line)
		}
	}
	return e
}

func (s *script) reported(d *datadriven.TestData, r wire.Report) Reported {
	e := Reported{}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if epoch, number, ok := strings.Cut(f[0], "."); ok {
			r.Spans = append(r.Spans, wire.HeldSpan{
				ID:  wire.SpanID{Epoch: s.number(epoch), Number: s.number(number)},
				Job: f[1], Span: s.span(f[2]), Running: len(f) > 3,
			})
			continue
		}
		jr := wire.JobReport{Job: f[0], First: s.number(strings.TrimSuffix(f[1], ":"))}
		for _, text := range f[2:] {
			var item wire.Item
			switch {
			case text == "open!":
				item.Failure = &wire.Failure{Error: "no database", Open: true}
			case strings.HasPrefix(text, "!!"):
				item.Failure = &wire.Failure{Partition: s.number(text[2:]), Error: "bad input", Permanent: true}
			case strings.HasPrefix(text, "!"):
				item.Failure = &wire.Failure{Partition: s.number(text[1:]), Error: "timeout"}
			default:
				item.Partial = &wire.Partial{Node: s.node(text)}
				s.lastRef++
				e.Refs = append(e.Refs, s.lastRef)
			}
			jr.Items = append(jr.Items, item)
		}
		r.Jobs = append(r.Jobs, jr)
	}
	if err := r.Validate(); err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	e.Report = r
	return e
}

func (s *script) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) node(text string) jobs.Node {
	level, index, _ := strings.Cut(text, "/")
	return jobs.Node{Level: uint8(s.number(level)), Index: s.number(index)}
}

func (s *script) span(text string) jobs.Span {
	lo, hi, _ := strings.Cut(text, "-")
	return jobs.Span{Lo: s.number(lo), Hi: s.number(hi)}
}
