package term

// successor returns the worker that should lead next, which is the worker that can merge for the
// most active jobs. It returns "" if any worker may lead next, or if the term has failed. A silent or draining worker is never
// chosen.
func (t *Term) successor() string {
	if t.ledger == nil || t.failure != nil {
		return ""
	}
	best, most := "", -1
	for _, w := range t.ledger.Workers() {
		if w.ID == t.cfg.Worker || w.State != "idle" && w.State != "busy" {
			continue
		}
		known := 0
		for _, j := range t.jobs.active {
			if t.ledger.WorkerKnows(w.ID, kindOf(j.spec)) {
				known++
			}
		}
		if known > most {
			best, most = w.ID, known
		}
	}
	return best
}
