package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// limits are the limits of all accounts that a set uses.
type limits struct {
	watch func(Throttling)

	mu sync.Mutex
	of map[string]*limit
}

// get returns the limit of the account of an object, or nil if the object is a file.
func (l *limits) get(d Driver, name string) *limit {
	account := accountOf(d, name)
	if account == "" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[account] == nil {
		l.of[account] = newLimit(account, l.watch)
	}
	return l.of[account]
}

// accountOf returns the host of an object's URL. A source whose objects have other names is one
// account, unless it is a Namer. Files have no account.
func accountOf(d Driver, name string) string {
	if namer, ok := d.(Namer); ok {
		name = namer.Canonical(name)
	}
	scheme, rest, _ := strings.Cut(name, "://")
	switch {
	case rest == "", scheme == "file":
		return ""
	case scheme != "https" && scheme != "http":
		return scheme
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.ToLower(rest)
}

// limit bounds the requests in flight to an account, and repeats those that the account throttles.
type limit struct {
	account string
	watch   func(Throttling)
	queue   chan struct{} // contains a value while a request waits for the rule; other requests wait behind it
	freed   chan struct{} // gets a value when fewer requests are in flight
	silent  atomic.Bool   // reports whether rule.silent is set

	mu     sync.Mutex
	rule   rule
	sent   int                // number of requests that have no response yet
	bodies map[*body]struct{} // bodies of responses that have not ended
	aged   time.Time          // time at which the states of bodies were last changed to idle
}

func newLimit(account string, watch func(Throttling)) *limit {
	return &limit{account: account, watch: watch, queue: make(chan struct{}, 1), freed: make(chan struct{}, 1), bodies: map[*body]struct{}{}}
}

// send calls request, which sends one request, once the rule permits it, and again if the request was
// throttled. If nothing arrives from the account for maxSilence, send returns the error of the request.
// A nil limit permits everything.
func (l *limit) send(ctx context.Context, request func() error) error {
	if l == nil {
		return request()
	}
	for {
		err := l.once(ctx, request)
		throttled, ok := errors.AsType[*Throttled](err)
		if !ok {
			return err
		}
		if l.isSilent() {
			return fmt.Errorf("%w: nothing has arrived from %s for %v", err, l.account, maxSilence)
		}
		if err := sleep(ctx, min(throttled.After, maxAfter)); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

func (l *limit) once(ctx context.Context, request func() error) (err error) {
	sent, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { l.end(sent, err) }()
	return request()
}

// begin waits until a request may be sent, and returns the time at which it is sent.
func (l *limit) begin(ctx context.Context) (now time.Time, err error) {
	select {
	case l.queue <- struct{}{}:
	case <-ctx.Done():
		return now, context.Cause(ctx)
	}
	defer func() { <-l.queue }()
	for {
		now = time.Now()
		wait := l.try(now)
		if wait == 0 {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-l.freed:
		case <-time.After(wait):
		}
	}
}

// try counts a request as sent if the rule permits it. Otherwise it returns the time to wait.
func (l *limit) try(now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.rule; r.over(now) {
		l.rule = rule{}
		l.silent.Store(false)
		l.watch(Throttling{Account: l.account, Requests: r.count, Took: r.last.Sub(r.since), Ended: true})
	}
	if wait = l.rule.wait(now, l.inFlight(now)); wait == 0 {
		l.sent++
	}
	return wait
}

// end notes the outcome of a request.
func (l *limit) end(sent time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if throttled, ok := errors.AsType[*Throttled](err); ok {
		now := time.Now()
		l.rule.throttled(now, sent, throttled.After, l.inFlight(now), rand.Float64())
		l.silent.Store(true)
		l.watch(Throttling{Account: l.account, Requests: l.rule.count, Took: now.Sub(l.rule.since)})
	} else if err == nil {
		l.rule.served()
		l.silent.Store(false)
	}
	l.sent--
	l.free()
}

func (l *limit) free() {
	select {
	case l.freed <- struct{}{}:
	default: // a request that waits will see both changes
	}
}

// isSilent reports whether nothing has arrived from the account for maxSilence while it throttled requests.
func (l *limit) isSilent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.rule.silent.IsZero() && time.Since(l.rule.silent) >= maxSilence
}

// arrived notes that bytes have arrived from the account.
func (l *limit) arrived() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rule.silent = time.Time{}
	l.silent.Store(false)
}

// idleAfter is the time after which a response is not in flight if nobody reads it. Such a response
// takes no bandwidth, because its connection is full. It must not block other requests, because its reader may wait for
// one of them, or for a slot that does.
const idleAfter = 100 * time.Millisecond

// The states of a body.
const (
	idle    int32 = iota // nobody has read for idleAfter
	recent               // somebody has read since the states were last changed
	reading              // a call of Read waits for bytes
)

// inFlight returns the number of requests in flight.
func (l *limit) inFlight(now time.Time) int {
	aging := now.Sub(l.aged) >= idleAfter
	if aging {
		l.aged = now
	}
	n := l.sent
	for b := range l.bodies {
		if b.state.Load() != idle {
			n++
		}
		if aging {
			b.state.CompareAndSwap(recent, idle)
		}
	}
	return n
}

// body is the body of a response of an account.
type body struct {
	io.ReadCloser
	limit *limit
	state atomic.Int32
}

// add counts a body as in flight.
func (l *limit) add(of io.ReadCloser) *body {
	b := &body{ReadCloser: of, limit: l}
	b.state.Store(recent)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies[b] = struct{}{}
	return b
}

func (b *body) Read(p []byte) (int, error) {
	b.state.Store(reading)
	n, err := b.ReadCloser.Read(p)
	b.state.Store(recent)
	if n > 0 && b.limit.silent.Load() {
		b.limit.arrived()
	}
	if err != nil {
		b.remove()
	}
	return n, err
}

func (b *body) Close() error {
	b.remove()
	return b.ReadCloser.Close()
}

func (b *body) remove() {
	b.limit.mu.Lock()
	defer b.limit.mu.Unlock()
	delete(b.limit.bodies, b)
	b.limit.free()
}

type limitKey struct{}

// Request calls request, which sends one request of a listing, for a driver that a [Set] uses. The
// Set calls it again if it returns a [Throttled], so that a listing of many requests need not begin
// again.
func Request(ctx context.Context, request func() error) error {
	l, _ := ctx.Value(limitKey{}).(*limit)
	return l.send(ctx, request)
}
