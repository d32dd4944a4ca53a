package session

// alone is a span that runs alone, because workers have died while they ran it. The worker of a
// span that runs alone reports each function of the job to the leader before the call. If a
// function ends the process, the leader therefore knows which function was running.
type alone struct {
	span     *HeldSpan
	function string // function that the job calls next; empty before the first call
	reported bool   // the last report contains the function
	known    bool   // the leader has received the report with the function
}

// Alone returns the span of a job that runs alone, or nil.
func (s *Session) Alone(job string) *HeldSpan {
	if h := s.work.alone.span; h != nil && !h.dropped && h.job.id == job {
		return h
	}
	return nil
}

// Announce tells the leader which function of the job the span will call next, if the span runs
// alone. If Announce returns true, the caller must wait until [Session.Announced] returns true
// before it calls the function.
func (s *Session) Announce(h *HeldSpan, function string) (wait bool) {
	if h == nil || h.dropped || h != s.work.alone.span {
		return false
	}
	s.work.alone = alone{span: h, function: function}
	s.hurry()
	return true
}

// Announced reports whether the leader knows the function that was last announced for a span, or
// whether the span is no longer held.
func (s *Session) Announced(h *HeldSpan) bool {
	return h.dropped || h != s.work.alone.span || s.work.alone.known
}
