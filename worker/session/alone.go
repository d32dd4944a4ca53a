package session

// alone is a span that runs alone because workers that ran it died. Its worker tells the
// leader each function of the job before it calls the function. If the function ends the
// process, the leader knows which one it was.
type alone struct {
	span     *HeldSpan
	function string // the function to call next; empty before the first one
	reported bool   // the report in flight, or the last one, has the function
	known    bool   // the leader has that report
}

// Alone returns the span of a job that runs alone, or nil.
func (s *Session) Alone(job string) *HeldSpan {
	if h := s.work.alone.span; h != nil && !h.dropped && h.job.id == job {
		return h
	}
	return nil
}

// Announce tells the leader which function of its job a span calls next, if the span runs
// alone. If Announce returns true, the caller must not call the function before
// [Session.Announced] returns true.
func (s *Session) Announce(h *HeldSpan, function string) (wait bool) {
	if h == nil || h.dropped || h != s.work.alone.span {
		return false
	}
	s.work.alone = alone{span: h, function: function}
	s.hurry()
	return true
}

// Announced reports whether the leader knows the last function that was announced of a span,
// or the span is not held any more.
func (s *Session) Announced(h *HeldSpan) bool {
	return h.dropped || h != s.work.alone.span || s.work.alone.known
}
