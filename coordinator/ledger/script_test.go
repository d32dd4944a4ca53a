package ledger

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bellwether-compute/bellwether/deploy/local/scripttest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// TestScripts runs the scripts in testdata, one for each behaviour. The flag -rewrite updates the
// expected output of the scripts. The scripts contain these commands:
//
//	new [epoch=N] [self=W] [storage=S] [mtbf=D] [workers=N] [lost=W] [reports=N]
//	                                make a ledger, to which all workers together send N reports per second; the time goes on
//	add JOB [partitions=N] [timeout=D] [elapsed=D] [priority=N] [attempts=N] [skip=N] [died] [cannot-merge] [past-trial] [audit=N]
//	    [deaths=N worker-time=D]
//	    [estimates [stop-after=D]]
//	    [whole]                     the manifest has the whole nodes
//	                                without partitions, the job is not planned
//	    node 2/0 | node 0/4 -       a finished node of the manifest; - if it was skipped
//	    worker W N | suspect LO-HI DEATHS[/LED] [ALONE] | attempt P N | executed N | uncounted | skipped P | partition-time D
//	    judged N | stopped N       rungs up to N are judged, a prefix suffices
//	    call FUNCTION [NODE] FAILED DEATHS/LED
//	report W [hello=SLOTS [storage=S] [host=H] [holds] [joins]] [seq=N] [conversation=N] [draining] [more] [lost=SLOTS] [lost-calls=N] [memory=BYTES]
//	    JOB FIRST: 2/0 !5 !!6       items: a node, a failure, a permanent failure
//	    JOB FIRST: 2/0@1 plan=N@1 result@1 Open! Plan!! Merge-2/0!
//	                                items: a node, a plan and a result of calls of epoch 1, failures of calls
//	    JOB FIRST: estimate=N@1 stop=N@1
//	                                estimates of calls of epoch 1 for a rung, which does not suffice or does
//	    JOB FIRST: Plan!slow        a call that did not return within its time beside the call slots
//	    JOB FIRST: held:2/0 2/0+stored
//	                                a node computed and held, a held node that is in storage
//	    holds JOB 2/0 [LACKING] [size=N]
//	                                a node that the worker holds, of 1000 bytes if no size is given
//	    1.3 JOB 0-10 [* [N]]        a span that the worker holds; * if it runs, and N if N partitions have run
//	    1.4 JOB Plan *              a call that the worker holds; Merge-2/0 for a merge
//	tick D [times=N]                let D pass, then step a tick
//	planned JOB partitions=N, plan-refused JOB
//	died W, merged JOB, merge-slow JOB, merge-failed JOB, checkpointed JOB, ended JOB, parked JOB, cancel JOB, stop
//	state, jobs, workers, all-durable    print what the ledger has
//	deaths                          print the number of deaths from outside, and for how long workers have run
//	gone                            print which workers have died, and what they ran
//	durations JOB                   print how long partitions took, as the next checkpoint will contain it
//	elapsed JOB                     print the time spent on a job, as the next checkpoint will contain it
//	partition-time JOB              print the mean slot time of a partition, as the next checkpoint will contain it
//	map JOB [lo=N] step=N cells=N [durable=LO-HI]
//	                                print the cells of a window, the tree and what is running
//
// The sequence of a report is one more than the worker's last sequence, or 1 with a hello. The
// conversation of a report is the same as that of the last report, unless conversation=N is given.
// The output has a line for each action, but only the number of the dropped partials.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	scripttest.Command
	ledger        *Ledger
	now           time.Duration
	sequences     map[string]uint64 // sequence number of each worker's last report
	conversations map[string]uint64 // conversation of each worker's last report
	lastRef       Ref
	merges        map[string][]Merge // merges in flight, by job
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	s.Command = scripttest.Command{T: t, D: d}
	arg := func(name string, absent uint64) uint64 {
		for _, a := range d.CmdArgs {
			if a.Key == name {
				return s.Number(a.Vals[0])
			}
		}
		return absent
	}
	subject := ""
	if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 {
		subject = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "new":
		cfg := Config{Epoch: arg("epoch", 1), Self: "w1", Workers: int(arg("workers", 0)), ReportsPerSecond: int(arg("reports", 0))}
		d.MaybeScanArgs(t, "lost", &cfg.Lost)
		d.MaybeScanArgs(t, "self", &cfg.Self)
		d.MaybeScanArgs(t, "storage", &cfg.Storage)
		d.MaybeScanArgs(t, "build", &cfg.Build)
		if d.HasArg("mtbf") {
			cfg.MeanTimeBetweenFailures = s.Duration(s.Text("mtbf", ""))
		}
		l, err := New(cfg, s.now)
		if err != nil {
			t.Fatal(err)
		}
		*s = script{Command: s.Command, ledger: l, now: s.now, sequences: map[string]uint64{}, conversations: map[string]uint64{}, merges: map[string][]Merge{}, lastRef: s.lastRef}
		return ""
	case "add":
		out := s.step(s.jobAdded(d, subject, arg))
		if d.HasArg("past-trial") {
			s.ledger.endTrial(s.ledger.jobsByID[subject])
		}
		return out
	case "report":
		r := wire.Report{
			Epoch: s.ledger.cfg.Epoch, Worker: subject, Sequence: s.sequences[subject] + 1,
			Draining: d.HasArg("draining"), More: d.HasArg("more"),
			LostSlots: int(arg("lost", 0)), LostCalls: int(arg("lost-calls", 0)),
			Usage: wire.Usage{Memory: arg("memory", 0)},
		}
		if slots := arg("hello", 0); slots > 0 {
			r.Sequence = 1
			r.Hello = &wire.Hello{Slots: int(slots), Knows: []wire.JobKind{{Name: "k", Version: "1"}}}
			r.Hello.Holds = d.HasArg("holds")
			d.MaybeScanArgs(t, "storage", &r.Hello.Storage)
			d.MaybeScanArgs(t, "build", &r.Hello.Build)
			d.MaybeScanArgs(t, "host", &r.Hello.Host)
		}
		d.MaybeScanArgs(t, "server", &r.Server)
		r.Sequence = arg("seq", r.Sequence)
		r.Conversation = arg("conversation", s.conversations[subject])
		if d.HasArg("joins") {
			r.Conversation = wire.FirstConversation(r.Hello.Since)
		}
		s.conversations[subject] = r.Conversation
		s.sequences[subject] = r.Sequence
		return s.step(reported(s.parseReport(d, r), func() Ref { s.lastRef++; return s.lastRef }))
	case "tick":
		out := ""
		after := s.Duration(subject)
		for range arg("times", 1) {
			s.now += after
			out += s.step(Tick{})
		}
		return out
	case "cost":
		c := s.ledger.costNow(s.ledger.jobsByID[subject])
		return fmt.Sprintf("slots %.3g s, lost %.3g s, leader %.3g s\n", c.SlotSeconds, c.LostSeconds, c.LeaderSeconds)
	case "died":
		return s.step(WorkerDied{subject})
	case "merged":
		out := ""
		for len(s.merges[subject]) > 0 {
			m := s.merges[subject][0]
			s.merges[subject] = s.merges[subject][1:]
			s.lastRef++
			out += s.step(Merged{subject, FinishedNode{Node: m.Node, Ref: s.lastRef}})
		}
		return out
	case "merge-slow":
		m := s.merges[subject][0]
		s.merges[subject] = s.merges[subject][1:]
		return s.step(MergeSlow{subject, m.Node})
	case "planned":
		return s.step(JobPlanned{Job: subject, Plan: Plan{Partitions: arg("partitions", 0)}})
	case "plan-refused":
		return s.step(JobFailed{subject, "write plan: too large"})
	case "merge-failed":
		return s.step(JobFailed{subject, "merge: bad operands"})
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
	case "state":
		return formatState(s.ledger)
	case "jobs":
		var b strings.Builder
		for _, p := range s.ledger.Jobs() {
			fmt.Fprintf(&b, "%s %s %d/%d executed=%d skipped=%v rate=%.2g workers=%d trouble=%q", p.Job, p.State, p.Done, p.Partitions, p.Executed, p.Skipped, p.Rate, p.Workers, p.Trouble)
			if p.MergesLeft > 0 {
				fmt.Fprintf(&b, " merges-left=%d", p.MergesLeft)
			}
			b.WriteString(formatHeldProgress(p))
			b.WriteString("\n")
		}
		return b.String()
	case "workers":
		var b strings.Builder
		for _, w := range s.ledger.Workers() {
			fmt.Fprintf(&b, "%s slots=%d %s leader=%v\n", w.ID, w.Slots, w.State, w.Leader)
		}
		return b.String()
	case "map":
		var durable []engine.Span
		for _, a := range d.CmdArgs {
			if a.Key == "durable" {
				durable = append(durable, s.Span(a.Vals[0]))
			}
		}
		return s.formatMap(subject, wire.Window{Lo: arg("lo", 0), Step: arg("step", 1), Cells: int(arg("cells", 1))}, durable)
	case "elapsed":
		return fmt.Sprintln(s.ledger.snapshot(s.ledger.jobsByID[subject]).Elapsed)
	case "partition-time":
		return fmt.Sprintln(s.ledger.snapshot(s.ledger.jobsByID[subject]).PartitionTime)
	case "durations":
		d := s.ledger.snapshot(s.ledger.jobsByID[subject]).Durations
		return fmt.Sprintf("%v slowest %v\n", d.Counts, d.Slowest)
	case "gone":
		var b strings.Builder
		for _, g := range s.ledger.Gone() {
			fmt.Fprintf(&b, "%s for %v: %s; ran %s\n", g.ID, g.For, g.Cause, cmp.Or(g.Work, "nothing"))
		}
		return b.String()
	case "deaths":
		n, workerTime := s.ledger.outsideDeaths()
		return fmt.Sprintf("%d in %v\n", n, workerTime)
	case "all-durable":
		return fmt.Sprintln(s.ledger.AllDurable())
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// formatMap prints a map and the running assignments.
func (s *script) formatMap(job string, window wire.Window, durable []engine.Span) string {
	var b strings.Builder
	v := s.ledger.View(job)
	if v == nil {
		return "no map\n"
	}
	m := v.Map([]wire.Window{window}, durable)
	if m == nil {
		return "no map\n"
	}
	format := func(name string, c wire.Cell) {
		fmt.Fprintf(&b, "%s held=%d computed=%d durable=%d retrying=%d failed=%d", name, c.Held, c.Computed, c.Durable, c.Retrying, c.Failed)
	}
	format("total", m.Total)
	if m.Reassigned > 0 {
		fmt.Fprintf(&b, " reassigned=%d", m.Reassigned)
	}
	b.WriteString("\n")
	for _, r := range m.Maps[0].Runs {
		format(fmt.Sprintf("%d cells", r.Repeat), r.Cell)
		if r.Holder > 0 {
			fmt.Fprintf(&b, " holder=%s", m.Holders[r.Holder-1])
		}
		b.WriteString("\n")
	}
	b.WriteString("tree")
	for _, n := range m.Tree[:min(len(m.Tree), 15)] { // print four levels
		fmt.Fprintf(&b, " %d", n.Done)
		if n.Merged {
			b.WriteString("*")
		}
	}
	b.WriteString("\n")
	for _, cells := range m.Maps[0].Retried {
		fmt.Fprintf(&b, "retried in cells %v\n", cells)
	}
	for _, e := range m.Errors {
		fmt.Fprintf(&b, "error %d %q partition=%d\n", e.Count, e.Text, e.Partition)
	}
	workers, _ := s.ledger.WorkersAfter("", 100)
	for _, w := range workers {
		fmt.Fprintf(&b, "%s busy=%d spans=%d cost=%.3g running=%v\n", w.ID, w.Busy, w.Spans, w.Cost, w.Running)
	}
	t := s.ledger.Totals()
	fmt.Fprintf(&b, "workers=%d slots=%d busy=%d\n", t.Workers, t.Slots, t.Busy)
	return b.String()
}

// step passes an event to the ledger and prints the actions.
func (s *script) step(e Event) string {
	var b strings.Builder
	dropped := 0
	for _, a := range s.ledger.Step(s.now, e) {
		switch a := a.(type) {
		case DropPartial:
			dropped++
			continue
		case Merge:
			s.merges[a.Job] = append(s.merges[a.Job], a)
		}
		fmt.Fprintln(&b, formatAction(a))
	}
	if dropped > 0 {
		fmt.Fprintf(&b, "dropped partials: %d\n", dropped)
	}
	return b.String()
}

func (s *script) jobAdded(d *datadriven.TestData, job string, arg func(string, uint64) uint64) JobAdded {
	e := JobAdded{
		Spec: store.Spec{
			ID: job, Job: "k", Version: "1",
			MaxAttempts: int(arg("attempts", 3)), MaxSkipped: arg("skip", 0),
		},
		Plan: Plan{Partitions: arg("partitions", 0)}, LeaderDied: d.HasArg("died"), LeaderSilent: d.HasArg("silent"), CanMerge: !d.HasArg("cannot-merge"),
		ExpectLarge: d.HasArg("expect-large"),
	}
	e.Cost = store.Cost{SlotSeconds: float64(arg("slot-seconds", 0)), LostSeconds: float64(arg("lost-seconds", 0)), LeaderSeconds: float64(arg("leader-seconds", 0))}
	d.MaybeScanArgs(s.T, "priority", &e.Spec.Priority)
	if d.HasArg("timeout") {
		e.Spec.Timeout, e.Elapsed = s.Duration(s.Text("timeout", "")), s.Duration(s.Text("elapsed", "0s"))
	}
	if e.Spec.Estimates = d.HasArg("estimates"); d.HasArg("stop-after") {
		e.Spec.StopAfter = s.Duration(s.Text("stop-after", ""))
	}
	e.Whole = d.HasArg("whole")
	e.Spec.StrictBuilds = d.HasArg("strict-builds")
	e.Spec.Audit = uint32(arg("audit", 0))
	if e.Deaths = int(arg("deaths", 0)); e.Deaths > 0 {
		e.WorkerTime = s.Duration(s.Text("worker-time", ""))
	}
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		switch f[0] {
		case "node":
			n := FinishedNode{Node: s.Node(f[1])}
			if len(f) == 2 {
				s.lastRef++
				n.Ref = s.lastRef
			}
			e.Nodes = append(e.Nodes, n)
		case "worker":
			e.Workers = append(e.Workers, store.Contributor{Worker: f[1], Through: s.Number(f[2])})
		case "suspect":
			deaths, led, _ := strings.Cut(f[2]+"/0", "/")
			led, _, _ = strings.Cut(led, "/")
			suspect := store.CrashSuspect{Span: s.Span(f[1]), Deaths: int(s.Number(deaths)), Led: int(s.Number(led))}
			if len(f) > 3 {
				suspect.Alone = s.Duration(f[3])
			}
			e.CrashSuspects = append(e.CrashSuspects, suspect)
		case "attempt":
			e.Attempts = append(e.Attempts, store.Attempt{Partition: s.Number(f[1]), Failed: int(s.Number(f[2]))})
		case "build":
			e.Builds = append(e.Builds, f[1])
		case "call":
			function, node := s.Call(f[1])
			deaths, led, _ := strings.Cut(f[3], "/")
			e.Calls = append(e.Calls, store.CallRecord{
				Function: function.String(), Node: node,
				Failed: int(s.Number(f[2])), Deaths: int(s.Number(deaths)), Led: int(s.Number(led)),
			})
		case "judged":
			for rung := uint64(1); rung <= s.Number(f[1]); rung = engine.NextRung(rung) {
				e.Judged = append(e.Judged, jobs.Estimated{Partitions: rung})
			}
		case "stopped":
			e.Stopped = &jobs.Stopped{At: s.Number(f[1])}
		case "executed":
			e.Executed = s.Number(f[1])
		case "uncounted":
			e.Uncounted = true
		case "partition-time":
			e.PartitionTime = s.Duration(f[1])
		case "skipped":
			e.Skipped = append(e.Skipped, s.Number(f[1]))
		default:
			d.Fatalf(s.T, "unknown line %q", line)
		}
	}
	return e
}

// parseReport adds the lines of a command "report" to the report.
func (s *script) parseReport(d *datadriven.TestData, r wire.Report) wire.Report {
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		if f[0] == "holds" {
			r.Nodes = append(r.Nodes, s.heldNode(f[1:]))
			continue
		}
		if epoch, number, ok := strings.Cut(f[0], "."); ok {
			held := wire.HeldSpan{ID: wire.SpanID{Epoch: s.Number(epoch), Number: s.Number(number)}, Job: f[1], Running: len(f) > 3}
			if len(f) > 4 {
				held.Done = s.Number(f[4])
			}
			if '0' <= f[2][0] && f[2][0] <= '9' {
				held.Span = s.Span(f[2])
			} else {
				held.Function, held.Node = s.Call(f[2])
			}
			r.Spans = append(r.Spans, held)
			continue
		}
		jr := wire.JobReport{Job: f[0], First: s.Number(strings.TrimSuffix(f[1], ":"))}
		for _, text := range f[2:] {
			var item wire.Item
			text, took, _ := strings.Cut(text, "+took=")
			if took != "" {
				item.Took = s.Duration(took)
			}
			if node, held := strings.CutPrefix(text, "held:"); held {
				n := s.Node(node)
				jr.Items = append(jr.Items, wire.Item{Held: &n, Took: item.Took})
				continue
			}
			if i := strings.LastIndex(text, "!@"); i > 0 { // a failure because of an operand's holder
				function, node := s.Call(text[:i])
				jr.Items = append(jr.Items, wire.Item{Failure: &wire.Failure{Error: "gone", Function: function, Node: node, Holder: text[i+2:]}})
				continue
			}
			text, slow := strings.CutSuffix(text, "slow")
			text, stored := strings.CutSuffix(text, "+stored")
			text, after, hasEpoch := strings.Cut(text, "@")
			epoch, lacking := uint64(0), uint64(0)
			if hasEpoch {
				after, lacks, hasLacking := strings.Cut(after, "~")
				if epoch = s.Number(after); hasLacking {
					lacking = s.Number(lacks)
				}
			}
			switch name, partitions, isPlan := strings.Cut(text, "="); {
			case isPlan || name == "result":
				output := wire.NewOutput(wire.Finish, 0, nil)
				if isPlan {
					function := map[string]wire.Function{"plan": wire.Plan, "estimate": wire.Estimate, "stop": wire.Estimate}[name]
					output = wire.NewOutput(function, s.Number(partitions), nil)
				}
				output.Stop = name == "stop"
				output.Epoch, output.Lacking = epoch, lacking
				item.Output = &output
			case strings.HasSuffix(text, "!"):
				function, node := s.Call(strings.TrimRight(text, "!"))
				item.Failure = &wire.Failure{Error: "no database", Function: function, Node: node, Permanent: strings.HasSuffix(text, "!!"), Slow: slow}
			case strings.HasPrefix(text, "!!"):
				item.Failure = &wire.Failure{Partition: s.Number(text[2:]), Error: "bad input", Permanent: true}
			case strings.HasPrefix(text, "!"):
				item.Failure = &wire.Failure{Partition: s.Number(text[1:]), Error: "timeout"}
			default:
				item.Partial = &wire.Partial{Node: s.Node(text), MergedFor: epoch, Lacking: lacking}
				if stored {
					item.Partial.Stored, item.Partial.Blob, item.Partial.Size = true, strings.Repeat("00", 32), 1000
				}
			}
			if item.Failure != nil {
				item.Failure.Took, item.Took = item.Took, 0
			}
			jr.Items = append(jr.Items, item)
		}
		r.Jobs = append(r.Jobs, jr)
	}
	if err := r.Validate(); err != nil {
		d.Fatalf(s.T, "%v", err)
	}
	return r
}

// reported returns the event of a report whose partials get new refs.
func reported(r wire.Report, newRef func() Ref) Reported {
	e := Reported{Report: r}
	for _, jr := range r.Jobs {
		items := make([]Item, len(jr.Items))
		for i, item := range jr.Items {
			if items[i].Item = item; item.Partial != nil || item.Output != nil {
				items[i].Ref = newRef()
			}
		}
		e.Jobs = append(e.Jobs, JobReport{jr.Job, jr.First, items})
	}
	return e
}

// heldNode parses the words of a line "holds" after the first word.
func (s *script) heldNode(f []string) wire.HeldNode {
	n := wire.HeldNode{Job: f[0], Node: s.Node(f[1]), Size: 1000}
	for _, text := range f[2:] {
		if size, isSize := strings.CutPrefix(text, "size="); isSize {
			n.Size = s.Number(size)
		} else {
			n.Lacking = s.Number(text)
		}
	}
	return n
}
