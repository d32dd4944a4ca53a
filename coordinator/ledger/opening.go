package ledger

import "github.com/bellwether-compute/bellwether/jobs/wire"

// minInline is the size in bytes of partials that a worker may put into a report however many slots there are. To hold,
// fetch and merge a smaller one takes longer than to report it.
const minInline = 4 << 10

// openingFor returns the opening of a job for a worker. With many slots it limits the partials in reports, and it names the worker
// from which a large state is fetched.
func (l *Ledger) openingFor(w *worker, j *job) wire.Opening {
	o, s := j.opening, &j.spread
	if inline := max(minInline, l.cfg.PartialBytes/l.slotsFor(j)); w.hello.Holds && inline < wire.MaxInline {
		o.Inline = uint32(inline)
	}
	if o.StateBlob == "" || len(s.workers) == 0 || !w.hello.Holds {
		return o
	}
	o.StateSize, o.StateSum = s.size, s.sum
	if w.id == s.workers[0] {
		return o // the worker has the state, because it has computed it
	}
	if holder := s.workers[(len(s.workers)-1)/2]; l.worker(holder) != nil {
		o.StateHolder = holder
	}
	s.workers = append(s.workers, w.id)
	return o
}
