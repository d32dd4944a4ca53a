package source

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"
)

// Throttled is the error of a request that a storage refused because it gets too many requests, or
// sends too many bytes. A Throttled is an [ErrUnavailable]. A [Set] sends such a request again, and
// sends fewer requests to the account at the same time.
type Throttled struct {
	Status int           // status of the response
	After  time.Duration // time that the storage asks to wait; 0 if it asks for none
}

// ThrottledBy returns a Throttled for a response with status 429 or 503, otherwise nil. The function
// header returns the value of a header of the response.
func ThrottledBy(status int, header func(name string) string) *Throttled {
	if status != 429 && status != 503 {
		return nil
	}
	t := &Throttled{Status: status}
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} { // of the services of Azure
		if n, err := strconv.ParseInt(header(name), 10, 32); err == nil && n > 0 {
			t.After = time.Duration(n) * time.Millisecond
			return t
		}
	}
	after := header("Retry-After") // RFC 9110, section 10.2.3
	if n, err := strconv.ParseInt(after, 10, 32); err == nil {
		t.After = max(0, time.Duration(n)*time.Second)
	} else if at, err := time.Parse(time.RFC1123, after); err == nil {
		t.After = max(0, time.Until(at))
	}
	return t
}

func (t *Throttled) Error() string {
	return fmt.Sprintf("%v: it throttles requests (status %d)", ErrUnavailable, t.Status)
}

// Is reports whether target is ErrUnavailable.
func (t *Throttled) Is(target error) bool { return target == ErrUnavailable }

// Throttling tells that an account has throttled a request, or that a throttled period has ended. A
// period begins with the first throttled request, and ends when none was throttled for a minute.
type Throttling struct {
	Account  string        // host of the account
	Requests int           // number of throttled requests in the period, with this one
	Took     time.Duration // time from the first to the last of them
	Ended    bool          // true if the period has ended
}

// Log logs the beginning and the end of a throttled period.
func (t Throttling) Log(log *slog.Logger) {
	switch {
	case t.Ended:
		log.Info("Storage has not throttled jobs for a minute", "account", t.Account, "requests", t.Requests, "took", t.Took.Round(time.Second))
	case t.Requests == 1:
		log.Warn("Storage throttles jobs, which continue with fewer requests at the same time", "account", t.Account)
	}
}

type watchKey struct{}

// Watch returns a context in which the sets of [With] call watch for each throttled request, and for
// the end of each throttled period, which they notice at the next request to the account. Several
// goroutines call watch, which must not block.
func Watch(ctx context.Context, watch func(Throttling)) context.Context {
	return context.WithValue(ctx, watchKey{}, watch)
}

func watcherOf(ctx context.Context) func(Throttling) {
	if watch, ok := ctx.Value(watchKey{}).(func(Throttling)); ok {
		return watch
	}
	return func(Throttling) {}
}
