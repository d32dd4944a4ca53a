package session

// alone is a span that runs alone, because workers have died while they ran it. The worker reports
// each function of the job to the leader before it calls the function. So if a function ends the
// process, the leader knows which one it was.
type alone struct {
	span     *HeldSpan
	function string // the function to call next; empty before the first call
	reported bool   // the report in flight, or the last report, contains the function
	known    bool   // the leader has received that report
}

// Alone returns the span of a job that runs alone, or nil.
func (s *Session) Alone(job string) *HeldSpan {
	if h := s.work.alone.span; h != nil && !h.dropped && h.job.id == job {
		return h
	}
	return nil
}

// If a span runs alone, Announce tells the leader which function of the job the span will call
// next. If Announce returns true, the caller must not call the function before [Session.Announced]
// returns true.
func (s *Session) Announce(h *HeldSpan, function string) (wait bool) {
	if h == nil || h.dropped || h != s.work.alone.span {
		return false
	}
	s.work.alone = alone{span: h, function: function}
	s.hurry()
	return true
}

// Announced reports whether the leader knows the function that was last announced for a span.
// Announced also returns true if the span is no longer held.
func (s *Session) Announced(h *HeldSpan) bool {
	return h.dropped || h != s.work.alone.span || s.work.alone.known
}
