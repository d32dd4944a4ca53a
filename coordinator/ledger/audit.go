package ledger

import "github.com/bellwether-compute/bellwether/jobs/wire"

// auditors returns the IDs of the workers that a worker should ask to compute audited partitions of a
// job a second time. The list begins after the worker in the order of IDs, so that the requests of
// all workers are spread evenly. The leader's own worker is an auditor only if no other worker can
// run the job, and never if the job may have killed a leader.
func (l *Ledger) auditors(w *worker, j *job) (list []string) {
	if j.opening.Audit == 0 {
		return nil
	}
	at, _ := l.findWorker(w.id)
	leader := false
	for i := 1; i < len(l.workers) && len(list) < wire.MaxAuditors; i++ {
		switch o := l.workers[(at+i)%len(l.workers)]; {
		case o.reserved || !l.canRun(o, j):
		case o.id == l.cfg.Self:
			leader = true
		default:
			list = append(list, o.id)
		}
	}
	if len(list) == 0 && leader && !j.writeAhead {
		list = []string{l.cfg.Self}
	}
	return list
}
