package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// brief prints an event or an action in one line.
func brief(x any) string {
	switch x := x.(type) {
	case Reported:
		return "report " + briefReport(x.Report)
	case Tick:
		return "tick"
	case WorkerDied:
		return "died " + x.Worker
	case JobAdded:
		return fmt.Sprintf("added %s with %d partitions", x.Spec.ID, x.Partitions)
	case JobCancelled:
		return "cancelled " + x.Job
	case JobEnded:
		return "ended " + x.Job
	case JobParked:
		return "parked " + x.Job
	case Merged:
		return fmt.Sprintf("merged %s %v", x.Job, x.Node)
	case MergeFailed:
		return fmt.Sprintf("merge failed %s: %s", x.Job, x.Error)
	case Checkpointed:
		return "checkpointed " + x.Job
	case Stopping:
		return "stopping"
	case Reply:
		return "reply " + x.Worker + briefReceipt(x.Receipt)
	case Nudge:
		return "nudge " + x.Worker
	case Probe:
		return "probe " + x.Worker
	case LookUpJob:
		return "inquire " + x.Job
	case Merge:
		return fmt.Sprintf("merge %s %v", x.Job, x.Node)
	case DropPartial:
		return "forget"
	case Checkpoint:
		return "checkpoint " + x.Job + briefSnapshot(x.Snapshot)
	case EndJob:
		text := fmt.Sprintf("end %s %s%s", x.Job, x.Outcome, briefSnapshot(x.Snapshot))
		if x.Error != "" {
			text += " error=" + fmt.Sprintf("%q", x.Error)
		}
		return text
	case Log:
		return "note " + strings.TrimSpace(strings.TrimSpace(x.Job+" "+x.Worker)+": "+x.Text)
	}
	return fmt.Sprintf("%T", x)
}

func briefReport(r wire.Report) string {
	text := fmt.Sprintf("%s seq=%d", r.Worker, r.Sequence)
	if r.Hello != nil {
		text += fmt.Sprintf(" hello slots=%d", r.Hello.Slots)
	}
	if r.Draining {
		text += " draining"
	}
	for _, j := range r.Jobs {
		text += fmt.Sprintf(" %s#%d:", j.Job, j.First)
		for i, item := range j.Items {
			if i > 0 {
				text += ","
			}
			if item.Partial != nil {
				text += item.Partial.Node.String()
			} else {
				text += fmt.Sprintf("!%d", item.Failure.Partition)
			}
		}
	}
	for _, s := range r.Spans {
		text += fmt.Sprintf(" %v=%s%v", s.ID, s.Job, s.Span)
		if s.Running {
			text += "*"
		}
	}
	if r.More {
		text += " more"
	}
	return text
}

func briefReceipt(r wire.Receipt) string {
	text := fmt.Sprintf(" seq=%d", r.Sequence)
	if r.Refused != "" {
		return text + " refused"
	}
	for _, o := range r.Opens {
		text += " open=" + o.Job
	}
	for _, a := range r.Assigned {
		text += fmt.Sprintf(" %v=%s%v", a.ID, a.Job, a.Span)
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
	}
	return text + fmt.Sprintf(" every=%v", r.Every)
}

func briefSnapshot(s Snapshot) string {
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
	list("skipped", len(s.Skipped), func(i int) string { return fmt.Sprint(s.Skipped[i]) })
	list("attempts", len(s.Attempts), func(i int) string { return fmt.Sprintf("%d:%d", s.Attempts[i].Partition, s.Attempts[i].Failed) })
	list("suspects", len(s.Suspects), func(i int) string {
		x := s.Suspects[i]
		if x.Led > 0 {
			return fmt.Sprintf("%v:%d/%d", x.Span, x.Deaths, x.Led)
		}
		return fmt.Sprintf("%v:%d", x.Span, x.Deaths)
	})
	return text
}

// briefBooks prints where the unfinished partitions of all jobs are.
func briefBooks(l *Ledger) string {
	var b strings.Builder
	for _, j := range l.jobs {
		fmt.Fprintf(&b, "%s: %d of %d done", j.spec.ID, j.forest.done(), j.tree.Partitions())
		if j.ending {
			b.WriteString(", ending")
		}
		b.WriteString("\n")
		for _, s := range j.fresh.spans {
			fmt.Fprintf(&b, "  fresh %v\n", s)
		}
		for _, a := range j.attempts.list {
			fmt.Fprintf(&b, "  failed %d %s due %v waiting=%v avoid=%s\n", a.Partition, times(a.Failed), a.due, a.waiting, a.avoid)
		}
		for _, s := range j.suspects.list {
			fmt.Fprintf(&b, "  suspect %v deaths=%d piece=%d\n", s.span, s.deaths, s.piece)
		}
		list := slices.Collect(j.held.all())
		slices.SortFunc(list, func(a, b *held) int { return cmp.Compare(a.span.Lo, b.span.Lo) })
		for _, h := range list {
			fmt.Fprintf(&b, "  held %v %v by %s", h.id, h.span, h.worker.id)
			if h.running {
				b.WriteString(" running")
			}
			if !h.told {
				b.WriteString(" untold")
			}
			if h.alone {
				b.WriteString(" alone")
			}
			if h.twin != nil {
				b.WriteString(" copied")
			}
			if h.deaths > 0 {
				fmt.Fprintf(&b, " deaths=%d", h.deaths)
			}
			b.WriteString("\n")
		}
	}
	for _, w := range l.workers {
		if w.isolates {
			fmt.Fprintf(&b, "%s is set aside\n", w.id)
		}
	}
	return b.String()
}
