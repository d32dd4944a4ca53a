package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a driver whose responses are those of the function answer.
type scripted struct {
	answer func(name string) error
	body   io.ReadCloser
}

func (d *scripted) List(ctx context.Context, pattern string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		yield(Object{Name: pattern}, Request(ctx, func() error { return d.answer(pattern) }))
	}
}

func (d *scripted) Read(_ context.Context, o Object, _, _ int64) (io.ReadCloser, error) {
	if err := d.answer(o.Name); err != nil {
		return nil, err
	}
	if d.body != nil {
		return d.body, nil
	}
	return io.NopCloser(strings.NewReader("x")), nil
}

// scriptedSet returns a set whose objects are those of a driver, and which reports what is throttled.
func scriptedSet(ctx context.Context, d Driver) (*Set, *[]Throttling) {
	var seen []Throttling
	ctx = Watch(ctx, func(t Throttling) { seen = append(seen, t) })
	return NewSet(ctx, []Source{{Schemes: []string{"https://"}, Open: func(context.Context) (Driver, error) { return d, nil }}}), &seen
}

// get reads an object of a set.
func get(ctx context.Context, s *Set, name string) error {
	body, err := s.Read(ctx, Object{Name: name, Size: 1}, 0, 1)
	if err == nil {
		_, err = io.ReadAll(body)
		err = errors.Join(err, body.Close())
	}
	return err
}

// TestThrottledRequestsAreRepeated checks when requests are repeated, and what is reported.
func TestThrottledRequestsAreRepeated(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: firstDelay, 7 * time.Second: 7 * time.Second, time.Hour: maxAfter} {
		synctest.Test(t, func(t *testing.T) {
			var at []time.Time
			d := &scripted{answer: func(string) error {
				if at = append(at, time.Now()); len(at)%2 == 1 {
					return fmt.Errorf("a: %w", &Throttled{429, after})
				}
				return nil
			}}
			s, seen := scriptedSet(t.Context(), d)
			if err := get(t.Context(), s, "https://h/a"); err != nil || len(at) != 2 || at[1].Sub(at[0]) < want || at[1].Sub(at[0]) > 2*want {
				t.Errorf("Retry-After %v: %v; got requests at %v, want two, %v apart or little more", after, err, at, want)
			}
			for _, err := range s.List(t.Context(), "https://h/b") {
				if err != nil || len(at) != 4 {
					t.Errorf("a throttled listing: got %v after %d requests, want 2", err, len(at)-2)
				}
			}
			time.Sleep(2 * calm)
			at = at[:1]
			if err := get(t.Context(), s, "https://h/a"); err != nil {
				t.Error(err)
			}
			if got := *seen; len(got) != 3 || got[0] != (Throttling{Account: "h", Requests: 1}) || got[1].Requests != 2 || !got[2].Ended || got[2].Requests != 2 {
				t.Errorf("got %+v, want two throttled requests and the end of the period", got)
			}
		})
	}
}

// TestSilentAccount checks that throttled requests fail if nothing arrives from the account, and that they do not while
// something does.
func TestSilentAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scripted{answer: func(name string) error {
			if name == "https://h/good" {
				return nil
			}
			return &Throttled{503, time.Second}
		}}
		s, _ := scriptedSet(t.Context(), d)
		begin := time.Now()
		var others sync.WaitGroup
		others.Go(func() {
			for range 10 {
				time.Sleep(maxSilence - 10*time.Second)
				if err := get(t.Context(), s, "https://h/good"); err != nil {
					t.Error(err)
				}
			}
		})
		err := get(t.Context(), s, "https://h/a")
		if took, least := time.Since(begin), 11*(maxSilence-10*time.Second); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "nothing has arrived from h") || took < least || took > least+time.Minute {
			t.Errorf("got %v after %v, want ErrUnavailable and the account after %v", err, took, least)
		}
		others.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := get(ctx, s, "https://h/a"); !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: got %v", err)
		}
	})
}

// TestAccountsHaveLimits checks that each account has a limit, for all its names, and that errors that are not
// throttling are not repeated.
func TestAccountsHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := 0
		d := &scripted{answer: func(name string) error {
			switch {
			case strings.Contains(strings.ToLower(name), "busy"):
				return &Throttled{503, 0}
			case strings.HasSuffix(name, "broken"):
				broken++
				return ErrUnavailable
			}
			return nil
		}}
		s, _ := scriptedSet(t.Context(), d)
		ctx, cancel := context.WithCancel(t.Context())
		var busy sync.WaitGroup
		for _, name := range []string{"https://busy/a", "https://BUSY/b"} {
			busy.Go(func() {
				if err := get(ctx, s, name); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: got %v, want a read that goes on until its context ends", name, err)
				}
			})
		}
		time.Sleep(time.Minute)
		begin := time.Now()
		for range 100 {
			if err := get(ctx, s, "https://free/a"); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("100 reads of an account that does not throttle wait for %v, because another one does", took)
		}
		if err := get(ctx, s, "https://free/broken"); !errors.Is(err, ErrUnavailable) || broken != 1 {
			t.Errorf("broken: got %v after %d requests, want ErrUnavailable after one", err, broken)
		}
		cancel()
		busy.Wait()
		if l := s.limits.of; len(l) != 2 || l["busy"].rule.limit != 1 || l["free"].rule.limit != 0 {
			t.Errorf("got the limits %v, want one of the account busy and none of free", l)
		}
	})
}

// TestReadersThatWait checks that a response that nobody reads does not block requests. Its reader may wait for them.
func TestReadersThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := true
		d := &scripted{answer: func(string) error {
			if busy {
				busy = false
				return &Throttled{503, 0}
			}
			return nil
		}}
		s, _ := scriptedSet(t.Context(), d)
		var open []io.ReadCloser
		for i := range 10 { // the limit is 1 at first
			begin := time.Now()
			body, err := s.Read(t.Context(), Object{Name: "https://h/a", Size: 1}, 0, 1)
			if took := time.Since(begin); err != nil || took > 3*idleAfter {
				t.Fatalf("response %d: %v after %v", i, err, took)
			}
			open = append(open, body)
		}
		for _, body := range open {
			if content, err := io.ReadAll(body); string(content) != "x" || err != nil {
				t.Errorf("got %q, %v", content, err)
			}
		}
		if n := len(s.limits.of["h"].bodies); n != 0 {
			t.Errorf("%d bodies count after their end", n)
		}
	})
}

// endless is a body that never ends.
type endless struct{ io.ReadCloser }

func (endless) Read([]byte) (int, error) {
	time.Sleep(time.Millisecond)
	return 1, nil
}

// TestResponsesInFlight checks that a response that somebody reads counts as in flight.
func TestResponsesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimit("h", func(Throttling) {})
		b := l.add(endless{io.NopCloser(nil)})
		ctx, stop := context.WithCancel(t.Context())
		var reader sync.WaitGroup
		reader.Go(func() {
			for ctx.Err() == nil {
				_, _ = b.Read(nil)
			}
		})
		l.end(time.Now(), &Throttled{503, 0}) // counts b and the request; the limit becomes 1
		l.sent++
		begin, done := time.Now(), false
		err := l.send(t.Context(), func() error { done = true; return nil })
		if took := time.Since(begin); err != nil || !done || took < 500*time.Millisecond || took > 2*time.Second {
			t.Errorf("a second request was sent after %v (%v), want about 1 s, when the limit is 2", took, err)
		}
		stop()
		reader.Wait()
	})
}

func TestThrottledBy(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	for _, test := range []struct {
		status      int
		name, value string
		least, most time.Duration
	}{
		{429, "", "", 0, 0},
		{503, "Retry-After", "3", 3 * time.Second, 3 * time.Second},
		{503, "Retry-After", "-3", 0, 0},
		{503, "Retry-After", "soon", 0, 0},
		{503, "Retry-After", soon, time.Hour - time.Minute, time.Hour},
		{503, "Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 0},
		{503, "X-Ms-Retry-After-Ms", "30", 30 * time.Millisecond, 30 * time.Millisecond},
	} {
		got := ThrottledBy(test.status, func(name string) string {
			if name == test.name {
				return test.value
			}
			return ""
		})
		if got == nil || got.After < test.least || got.After > test.most || !errors.Is(got, ErrUnavailable) || !strings.Contains(got.Error(), fmt.Sprint(test.status)) {
			t.Errorf("%+v: got %+v", test, got)
		}
	}
	for _, status := range []int{200, 404, 500, 502} {
		if got := ThrottledBy(status, nil); got != nil {
			t.Errorf("%d: got %v", status, got)
		}
	}
}
