package source

import "time"

// rule decides how many requests to an account may be in flight while the account throttles requests.
// The number grows by growth a second, and a throttled request multiplies it by shrink. Under additive
// increase and multiplicative decrease, clients that know nothing of each other approach equal shares
// (Chiu and Jain, Computer Networks and ISDN Systems 17, 1989); TCP does the same (RFC 5681). A
// throttled request transfers no content, so it costs less than a lost packet, and shrink is nearer
// to 1 than TCP's 0.5: clients stay closer to what the account can do. TestAccountIsUsed simulates it.
//
// If even one request of each worker is too many, as with hundreds of workers, the pauses after
// throttled requests grow (exponential backoff with jitter).
type rule struct {
	limit   float64   // maximum number of requests in flight; 0 if the account does not throttle
	grown   time.Time // time until which the limit has grown
	since   time.Time // time of the first throttled request of the period
	last    time.Time // time of the last decrease
	until   time.Time // end of the pause
	refused int       // number of decreases since a request has succeeded
	count   int       // number of throttled requests in the period
	silent  time.Time // time of the first throttled request since something has arrived; zero if no request was
}

const (
	growth     = 1
	shrink     = 0.85
	firstDelay = 50 * time.Millisecond // pause after a throttled request; it doubles up to lastDelay
	lastDelay  = 400 * time.Millisecond
	maxAfter   = 30 * time.Second // maximum pause that a storage can ask for
	calm       = time.Minute      // time without throttled requests after which the limit ends; more than a pause

	// maxSilence is the time after which throttled requests fail if nothing arrives from the account.
	maxSilence = 5 * time.Minute
)

// over reports whether the throttled period has ended.
func (r *rule) over(now time.Time) bool { return r.limit > 0 && now.Sub(r.last) > calm }

// wait returns the time for which a request must wait until the rule is asked again, or 0 if it may be
// sent now.
func (r *rule) wait(now time.Time, inFlight int) time.Duration {
	if r.limit == 0 {
		return 0
	}
	r.limit += growth * now.Sub(r.grown).Seconds()
	r.grown = now
	switch {
	case now.Before(r.until):
		return r.until.Sub(now)
	case inFlight > 0 && float64(inFlight+1) > r.limit:
		return idleAfter
	}
	return 0
}

// throttled notes that a request was throttled, which was sent at the given time and for which storage asks to wait.
// The request is one of those in flight. The parameter chance is random, between 0 and 1.
func (r *rule) throttled(now, sent time.Time, after time.Duration, inFlight int, chance float64) {
	if r.limit == 0 {
		*r = rule{limit: float64(inFlight), since: now, grown: now}
	}
	r.count++
	if r.silent.IsZero() {
		r.silent = now
	}
	if sent.Before(r.last) { // the request was sent before the last decrease, which it does not judge
		return
	}
	r.limit = max(1, shrink*min(r.limit, float64(inFlight)))
	r.last = now
	pause := min(firstDelay<<min(r.refused, 8), lastDelay)
	r.refused++
	jitter := time.Duration(chance * float64(pause) / 2)
	if inFlight == 1 { // while storage serves other requests of this process, only the refused request waits for so long
		pause = max(pause, min(after, maxAfter))
	}
	r.until = now.Add(pause + jitter)
}

// served notes that a request has succeeded.
func (r *rule) served() {
	r.refused = 0
	r.silent = time.Time{}
}
