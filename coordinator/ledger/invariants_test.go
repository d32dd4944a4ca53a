package ledger

import (
	"slices"

	"github.com/bellwether-compute/bellwether/jobs"
)

// check checks the ledger's own books after a step.
func (m *model) check() {
	l := m.ledger
	isolated := 0
	for _, w := range l.workers {
		if w.isolates {
			isolated++
		}
		for _, h := range w.held {
			if h.job.held.find(h.id) != h {
				m.failf("span %v is in the books of %s and not of job %s", h.id, w.id, h.job.spec.ID)
			}
		}
		if w.cuts < 0 {
			m.failf("%s has %d cuts under way", w.id, w.cuts)
		}
	}
	if isolated != l.isolated {
		m.failf("%d workers are set aside, the ledger counts %d", isolated, l.isolated)
	}
	for _, j := range l.jobs {
		m.checkPartitions(j)
		m.checkExecuted(j)
	}
}

// checkPartitions checks that every partition that is not finished is in exactly
// one place, and every other in none.
func (m *model) checkPartitions(j *job) {
	if j.ending {
		return
	}
	n := j.tree.Partitions()
	places := make([]int, n)
	put := func(span jobs.Span) {
		for p := span.Lo; p < span.Hi; p++ {
			places[p]++
		}
	}
	for _, span := range j.fresh.spans {
		put(span)
	}
	var waiting, size uint64
	for _, a := range j.attempts.list {
		if a.waiting {
			put(single(a.Partition))
			waiting++
		}
	}
	for _, s := range j.suspects.list {
		put(s.span)
		size += s.span.Len()
	}
	if waiting != uint64(j.attempts.waiting) || size != j.suspects.size {
		m.failf("job %s counts %d retries and %d suspects, and has %d and %d", j.spec.ID, j.attempts.waiting, j.suspects.size, waiting, size)
	}
	idle := slices.Clone(places)
	seen := map[*held]bool{}
	for h := range j.held.all() {
		if seen[h] = true; !seen[h.twin] {
			put(h.span)
		}
		if h.twin != nil && (h.twin.twin != h || h.twin.span != h.span) {
			m.failf("span %v and its copy %v are not the same", h.span, h.twin.span)
		}
	}
	missing := j.forest.missing(jobs.Span{Hi: n})
	for p := range n {
		for len(missing) > 0 && missing[0].Hi <= p {
			missing = missing[1:]
		}
		switch finished := len(missing) == 0 || p < missing[0].Lo; {
		case finished && idle[p] != 0:
			m.failf("job %s: partition %d is finished and waits", j.spec.ID, p)
		case !finished && places[p] != 1:
			m.failf("job %s: partition %d is in %d places", j.spec.ID, p, places[p])
		}
	}
}

// checkExecuted checks that what each worker delivered counts once per delivery.
func (m *model) checkExecuted(j *job) {
	want := uint64(0)
	for _, w := range m.workers {
		c, items := j.contributors[w.id], w.jobs[j.spec.ID]
		if c == nil || items == nil {
			continue
		}
		for i, item := range items.items {
			if uint64(i) < c.received && item.Partial != nil {
				want += j.tree.Span(item.Partial.Node).Len()
			}
		}
	}
	if !j.ending && j.executed != want {
		m.failf("job %s counts %d executions, workers delivered %d", j.spec.ID, j.executed, want)
	}
}

// checkReceipt checks what a receipt promises and orders against what is true.
func (m *model) checkReceipt(a Reply) {
	if err := a.Receipt.Validate(); err != nil {
		m.failf("receipt for %s: %w", a.Worker, err)
	}
	for _, jr := range a.Receipt.Jobs {
		j := m.job(jr.Job)
		if jr.Ended {
			if j.ended == "" {
				m.failf("%s is told that job %s has ended", a.Worker, jr.Job)
			}
			continue
		}
		through := uint64(0)
		for _, c := range j.durable.Workers {
			if c.Worker == a.Worker {
				through = c.Through
			}
		}
		if jr.Durable > through && j.ended == "" {
			m.failf("%s is told that items up to %d of job %s are durable, storage has %d", a.Worker, jr.Durable, jr.Job, through)
		}
	}
	l := m.ledger
	for _, s := range a.Receipt.Assigned {
		if l.settling || l.stopping {
			m.failf("span %v is assigned before the leader has settled", s.ID)
		}
		j := l.byID[s.Job]
		if j == nil {
			continue // the answer to a report that came twice
		}
		h := j.held.find(s.ID)
		if h == nil {
			continue
		}
		if m.assigned[s.ID] {
			continue
		}
		m.assigned[s.ID] = true
		if h.twin != nil {
			m.stats.Copies++
			m.job(s.Job).copied = true
		} else if m.clean && !m.job(s.Job).copied {
			m.checkUnclaimed(a.Worker, s.Job, h.span)
		}
		if h.alone && len(h.worker.held) > 1 {
			m.failf("%v runs beside others though it should be alone", h.span)
		}
		if m.crashed && h.save > 0 && j.acked < h.save {
			m.failf("the leader's own worker gets %v before storage knows", h.span)
		}
	}
}

// checkUnclaimed checks that nobody else holds any of the span, or has it done
// and kept.
func (m *model) checkUnclaimed(to, job string, span jobs.Span) {
	for _, w := range m.living() {
		if w.id == to {
			continue
		}
		for _, r := range w.runs {
			if r.job == job && r.lo < span.Hi && span.Lo < r.hi {
				m.failf("%v is given to %s, while %s holds [%d,%d)", span, to, w.id, r.lo, r.hi)
			}
		}
		items := w.jobs[job]
		if items == nil {
			continue
		}
		for _, item := range items.items[items.durable:] {
			if item.Partial != nil {
				if s := m.job(job).tree.Span(item.Partial.Node); s.Lo < span.Hi && span.Lo < s.Hi {
					m.failf("%v is given to %s, while %s keeps %v", span, to, w.id, s)
				}
			}
		}
	}
}
