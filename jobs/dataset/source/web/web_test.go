package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/sourcetest"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves objects in response to range requests.
type server struct {
	tags    bool // true if ETags identify objects, false if Last-Modified does
	mu      sync.Mutex
	version int
	objects map[string]content
}

type content struct {
	data    []byte
	version int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	c, ok := s.objects[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	modified := time.Time{}
	if s.tags {
		w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, c.version))
	} else {
		modified = time.Unix(1e9+int64(c.version), 0)
	}
	http.ServeContent(w, r, "", modified, bytes.NewReader(c.data))
}

func open(tags bool) func(*testing.T) sourcetest.Place {
	return func(t *testing.T) sourcetest.Place {
		s := &server{tags: tags, objects: map[string]content{}}
		ts := httptest.NewTLSServer(s)
		t.Cleanup(ts.Close)
		return sourcetest.Place{
			Driver: web.New(ts.Client()), Base: ts.URL + "/",
			Put: func(_ *testing.T, name string, data []byte) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.version++
				s.objects[strings.TrimPrefix(name, ts.URL)] = content{data, s.version}
			},
			Delete: func(_ *testing.T, name string) {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.objects, strings.TrimPrefix(name, ts.URL))
			},
		}
	}
}

func TestConformance(t *testing.T) {
	t.Run("ETag", func(t *testing.T) { sourcetest.Test(t, open(true)) })
	t.Run("Last-Modified", func(t *testing.T) { sourcetest.Test(t, open(false)) })
}

func TestAnswers(t *testing.T) {
	answer := func(status int, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(status)
			fmt.Fprint(w, "x")
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		kind    error
		text    string
	}{
		"no ranges":   {answer(200), source.ErrUnsupported, "ignores range requests"},
		"no tag":      {answer(206, "Content-Range", "bytes 0-0/1"), nil, "neither a strong ETag nor Last-Modified"},
		"weak tag":    {answer(206, "Content-Range", "bytes 0-0/1", "ETag", `W/"1"`), nil, "neither a strong ETag nor Last-Modified"},
		"no size":     {answer(206, "Content-Range", "bytes 0-0/*", "ETag", `"1"`), nil, "want one with the size"},
		"denied":      {answer(403), source.ErrDenied, "403 Forbidden: want an object that anyone may read"},
		"no login":    {answer(401), source.ErrDenied, "401"},
		"throttled":   {answer(429), source.ErrUnavailable, "429"},
		"busy":        {answer(503), source.ErrUnavailable, "503"},
		"bad request": {answer(400), nil, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			ts := httptest.NewServer(test.handler)
			defer ts.Close()
			for o, err := range web.New(ts.Client()).List(t.Context(), ts.URL+"/data.csv") {
				if err == nil {
					t.Fatalf("got %+v, want an error", o)
				}
				if test.kind != nil && !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), "data.csv") {
					t.Errorf("got %v, want %v, the name and %q", err, test.kind, test.text)
				}
			}
		})
	}
}

// TestRetryAfter checks that the error of a throttled request has what the server asks for.
func TestRetryAfter(t *testing.T) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer ts.Close()
	_, err := web.New(ts.Client()).Read(t.Context(), source.Object{Name: ts.URL + "/a", Size: 1, Tag: `"1"`}, 0, 1)
	if throttled, ok := errors.AsType[*source.Throttled](err); !ok || throttled.After != 7*time.Second || !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("got %v with %+v, want Throttled with 7 s", err, throttled)
	}
}

func TestUnreachable(t *testing.T) {
	d := web.New(web.NewClient([]string{"127.0.0.1:1"}))
	for o, err := range d.List(t.Context(), "http://127.0.0.1:1/data.csv") {
		if !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("got %+v, %v, want ErrUnavailable", o, err)
		}
	}
	for o, err := range d.List(t.Context(), "https://example.com/*.csv") {
		if !errors.Is(err, source.ErrUnsupported) {
			t.Errorf("got %+v, %v, want ErrUnsupported", o, err)
		}
	}
}

// TestIdentify checks that an object without an ETag is certain only if it was modified long ago.
func TestIdentify(t *testing.T) {
	d := web.New(http.DefaultClient)
	modified := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		tag     string
		since   time.Time
		certain bool
	}{
		{`"abc"`, modified, true},
		{modified.Format(http.TimeFormat), modified.Add(time.Minute), false},
		{modified.Format(http.TimeFormat), modified.Add(2 * time.Hour), true},
		{"yesterday", modified, false},
	} {
		if _, certain := d.Identify(source.Object{Name: "https://host/a", Tag: c.tag}, c.since); certain != c.certain {
			t.Errorf("%s at %v: certain is %v", c.tag, c.since, certain)
		}
	}
}
