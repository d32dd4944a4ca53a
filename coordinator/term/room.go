package term

// room lets so many things go on at a time. The others wait for their turn, in the
// order in which they came.
type room struct {
	most, busy int
	waiting    []func()
}

// enter begins something once there is a place for it.
func (r *room) enter(begin func()) {
	if !r.take() {
		r.waiting = append(r.waiting, begin)
		return
	}
	begin()
}

// take takes a place if one is free.
func (r *room) take() bool {
	if r.busy >= r.most {
		return false
	}
	r.busy++
	return true
}

// leave gives a place back: to whoever waits for it first.
func (r *room) leave() {
	if len(r.waiting) == 0 {
		r.busy--
		return
	}
	next := r.waiting[0]
	r.waiting = r.waiting[1:]
	next()
}
