package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// formatAction prints an action in one line.
func formatAction(a Action) string {
	switch x := a.(type) {
	case Reply:
		return "reply " + x.Worker + formatReceipt(x.Receipt)
	case Nudge:
		return "nudge " + x.Worker
	case Probe:
		if x.Server != "" {
			return "probe " + x.Worker + " server=" + x.Server
		}
		return "probe " + x.Worker
	case LookUpJob:
		return "look up " + x.Job
	case Merge:
		return fmt.Sprintf("merge %s %v", x.Job, x.Node)
	case StorePlan:
		return fmt.Sprintf("store plan of %s: %d partitions", x.Job, x.Partitions)
	case DropPartial:
		return "drop partial"
	case Checkpoint:
		if x.Whole {
			return "checkpoint " + x.Job + " whole" + formatSnapshot(x.Snapshot)
		}
		return "checkpoint " + x.Job + formatSnapshot(x.Snapshot)
	case EndJob:
		text := fmt.Sprintf("end %s %s%s", x.Job, x.Outcome, formatSnapshot(x.Snapshot))
		if x.Error != "" {
			text += " error=" + fmt.Sprintf("%q", x.Error)
		}
		return text
	case Log:
		kind := "log "
		if x.Event {
			kind = "event "
		}
		return strings.Join(strings.Fields(kind+x.Job+" "+x.Worker), " ") + ": " + x.Text
	}
	return fmt.Sprintf("%T", a)
}

func formatReceipt(r wire.Receipt) string {
	text := fmt.Sprintf(" seq=%d", r.Sequence)
	if r.Refused != "" {
		return text + " refused"
	}
	for _, o := range r.Opens {
		text += " open=" + o.Job
	}
	for _, a := range r.Assigned {
		if a.Call != nil {
			text += fmt.Sprintf(" %v=%s:%s", a.ID, a.Job, formatCall(a.Call.Function, a.Call.Node))
			if a.Call.Prefix > 0 {
				text += fmt.Sprintf("[0,%d)", a.Call.Prefix)
			}
			for _, o := range a.Call.Operands {
				if o.Holder != "" {
					text += fmt.Sprintf("(%v of %s)", o.Node, o.Holder)
				}
			}
			if a.Call.Failed > 0 {
				text += fmt.Sprintf(" failed=%d", a.Call.Failed)
			}
			if a.Call.Within > 0 {
				text += fmt.Sprintf(" within=%v", a.Call.Within)
			}
		} else {
			text += fmt.Sprintf(" %v=%s%v", a.ID, a.Job, a.Span)
			if a.Attempt > 0 {
				text += fmt.Sprintf(" attempt=%d", a.Attempt)
			}
		}
	}
	for _, c := range r.Cuts {
		text += fmt.Sprintf(" cut:%v=%d", c.ID, c.Hi)
	}
	for _, j := range r.Jobs {
		if j.Ended {
			text += fmt.Sprintf(" %s:ended", j.Job)
		} else {
			text += fmt.Sprintf(" %s:received=%d,durable=%d", j.Job, j.Received, j.Durable)
		}
		if len(j.Release) > 0 {
			text += fmt.Sprintf(",release=%v", j.Release)
		}
		if len(j.Store) > 0 {
			text += fmt.Sprintf(",store=%v", j.Store)
		}
		if len(j.Auditors) > 0 {
			text += fmt.Sprintf(",auditors=%v", j.Auditors)
		}
	}
	if r.Benched != "" {
		text += fmt.Sprintf(" benched=%q", r.Benched)
	}
	return text + fmt.Sprintf(" every=%v", r.Every)
}

// formatHeldProgress prints what a job's progress says about large partials.
func formatHeldProgress(p wire.JobProgress) string {
	text := ""
	if p.Unreported > 0 {
		text += fmt.Sprintf(" unreported=%d", p.Unreported)
	}
	if p.HeldBytes+p.MergedBytes > 0 {
		text += fmt.Sprintf(" held=%d merged=%d", p.HeldBytes, p.MergedBytes)
	}
	if p.MergeRate > 0 || p.MergeLeft > 0 {
		text += fmt.Sprintf(" merge-rate=%.3g merge-left=%d", p.MergeRate, p.MergeLeft)
	}
	for _, m := range p.Merging {
		text += fmt.Sprintf(" merging:%v@%s=%d,%v", m.Node, m.Worker, m.Bytes, m.For)
	}
	return text
}

func formatCall(function wire.Function, node engine.Node) string {
	if function == wire.Merge {
		return fmt.Sprintf("Merge-%v", node)
	}
	return function.String()
}

func formatSnapshot(s Snapshot) string {
	text := ""
	list := func(name string, n int, print func(i int) string) {
		if n == 0 {
			return
		}
		parts := make([]string, n)
		for i := range parts {
			parts[i] = print(i)
		}
		text += " " + name + "=" + strings.Join(parts, ",")
	}
	list("nodes", len(s.Nodes), func(i int) string {
		return s.Nodes[i].Node.String() + map[bool]string{true: "-"}[s.Nodes[i].Ref == NoRef]
	})
	list("workers", len(s.Workers), func(i int) string { return fmt.Sprintf("%s:%d", s.Workers[i].Worker, s.Workers[i].Through) })
	if s.Executed > 0 {
		text += fmt.Sprintf(" executed=%d", s.Executed)
	}
	if n := len(s.Judged); n > 0 {
		text += fmt.Sprintf(" judged=%d", s.Judged[n-1].Partitions)
	}
	if s.Stopped != nil {
		text += fmt.Sprintf(" stopped=%d", s.Stopped.At)
	}
	if s.Uncounted {
		text += " uncounted"
	}
	if !slices.Equal(s.Builds, []string{wire.UnknownBuild}) { // print builds only in scripts about builds
		list("builds", len(s.Builds), func(i int) string { return s.Builds[i] })
	}
	list("skipped", len(s.Skipped), func(i int) string { return fmt.Sprint(s.Skipped[i]) })
	list("reasons", len(s.SkipReasons), func(i int) string { return fmt.Sprintf("%d:%q", s.SkipReasons[i].Partition, s.SkipReasons[i].Text) })
	list("attempts", len(s.Attempts), func(i int) string { return fmt.Sprintf("%d:%d", s.Attempts[i].Partition, s.Attempts[i].Failed) })
	list("suspects", len(s.CrashSuspects), func(i int) string {
		x := s.CrashSuspects[i]
		if x.Led > 0 {
			return fmt.Sprintf("%v:%d/%d", x.Span, x.Deaths, x.Led)
		}
		return fmt.Sprintf("%v:%d", x.Span, x.Deaths)
	})
	list("calls", len(s.Calls), func(i int) string {
		c := s.Calls[i]
		return fmt.Sprintf("%s-%v:%d:%d/%d", c.Function, c.Node, c.Failed, c.Deaths, c.Led)
	})
	return text
}

// formatState prints the states of the unfinished partitions of all jobs.
func formatState(l *Ledger) string {
	var b strings.Builder
	for _, j := range l.jobs {
		fmt.Fprintf(&b, "%s: %d of %d done", j.spec.ID, j.forest.done(), j.tree.Partitions())
		if j.ending() {
			b.WriteString(", ending")
		}
		b.WriteString("\n")
		for c := range j.calls.all() {
			fmt.Fprintf(&b, "  call %s", formatCall(c.function, c.node))
			if c.assignment == nil {
				b.WriteString(" queued")
			}
			if c.failed+c.deaths > 0 {
				fmt.Fprintf(&b, " failed=%d due %v deaths=%d", c.failed, c.due, c.deaths)
			}
			b.WriteString("\n")
		}
		for _, w := range l.workers {
			for _, n := range w.nodes {
				if at := j.forest.holdingOf(w.id, n.node); n.job == j && at != nil {
					fmt.Fprintf(&b, "  %s holds %v", w.id, n.node)
					if at.ref != NoRef {
						b.WriteString(", stored")
					}
					b.WriteString("\n")
				}
			}
		}
		for _, s := range j.queue.fresh.spans {
			fmt.Fprintf(&b, "  fresh %v\n", s)
		}
		for f := range j.queue.failed.list.from(failedPartition{}) {
			fmt.Fprintf(&b, "  failed %d %s due %v queued=%v avoid=%s\n", f.partition, times(f.failed), f.due, f.queued, f.avoidWorker)
		}
		for _, s := range j.queue.suspects.list {
			fmt.Fprintf(&b, "  suspect %v deaths=%d piece=%d\n", s.span, s.deaths, s.piece)
		}
		list := slices.Collect(j.assignments.all())
		slices.SortFunc(list, func(a, b *assignment) int { return cmp.Compare(a.span.Lo, b.span.Lo) })
		for _, a := range list {
			state := []string{statePlanned: "planned", stateSent: "sent", stateConfirmed: "confirmed", stateRunning: "running"}[a.state]
			what := a.span.String()
			if a.call != nil {
				what = formatCall(a.call.function, a.call.node)
			}
			fmt.Fprintf(&b, "  assigned %v %s to %s %s", a.id, what, a.worker.id, state)
			if a.quarantined {
				b.WriteString(" quarantined")
			}
			if a.duplicate != nil {
				b.WriteString(" duplicate")
			}
			if a.deaths > 0 {
				fmt.Fprintf(&b, " deaths=%d", a.deaths)
			}
			b.WriteString("\n")
		}
	}
	for _, w := range l.workers {
		if w.reserved {
			fmt.Fprintf(&b, "%s is reserved\n", w.id)
		}
	}
	return b.String()
}
