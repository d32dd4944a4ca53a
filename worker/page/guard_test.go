package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/cluster"
)

func newTestPage(t *testing.T, cfg Config) *Page {
	t.Helper()
	cfg.Cluster.NATS.URL = "nats://127.0.0.1:1" // nobody listens on this port
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func get(p *Page, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:9464"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

func TestHosts(t *testing.T) {
	p := newTestPage(t, Config{Hosts: []string{"cluster.example.com"}})
	p.host = "node-1.lan"
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9464": 200, "[::1]:9464": 200, "10.2.3.4:80": 200, "localhost:9464": 200, "node-1.lan:9464": 200,
		"worker-0": 200, "cluster.example.com:9464": 200, "CLUSTER.example.com": 200, "localhost.:1": 200,
		"attacker.example": 403, "127.0.0.1.attacker.example": 403, "node-1.lan.attacker.example": 403, "": 403, ".": 403,
	} {
		if got := get(p, "GET", "/", func(r *http.Request) { r.Host = host }); got.Code != want {
			t.Errorf("host %q: got %d, want %d", host, got.Code, want)
		}
	}
}

func TestOtherSites(t *testing.T) {
	p := newTestPage(t, Config{})
	for _, c := range []struct {
		path, origin, site, mode string
		want                     int
	}{
		{"/", "", "none", "navigate", 200},
		{"/", "", "cross-site", "navigate", 200}, // the request follows a link
		{"/page/script.js", "", "same-origin", "no-cors", 200},
		{"/page/script.js", "", "cross-site", "no-cors", 403},
		{"/api/v1/nothing", "", "cross-site", "navigate", 403},
		{"/api/v1/nothing", "http://127.0.0.1:9464", "", "", 404},
		{"/api/v1/nothing", "http://attacker.example", "", "", 403},
		{"/api/v1/nothing", "http://127.0.0.1:9465", "", "", 403},
		{"/api/v1/nothing", "null", "", "", 403},
		{"/api/v1/nothing", "", "", "", 404}, // the client is not a browser
	} {
		got := get(p, "GET", c.path, func(r *http.Request) {
			for name, value := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
		})
		if got.Code != c.want {
			t.Errorf("%+v: got %d", c, got.Code)
		}
	}
}

// TestPolicy checks that the page loads nothing from other servers, and that the browser does not
// run scripts that are inserted into the page.
func TestPolicy(t *testing.T) {
	p := newTestPage(t, Config{})
	got := get(p, "GET", "/", nil)
	body := got.Body.String()
	if policy := got.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, no := range []string{"http:", "https:", "style=", "onclick", "<style", "<script>"} {
		if strings.Contains(body, no) {
			t.Errorf("the page has %s", no)
		}
	}
	size := len(body)
	for name, file := range p.assets {
		if name == "page.html" {
			continue
		}
		size += len(file.data)
		if got := get(p, "GET", "/page/"+name, nil); got.Code != 200 || strings.Contains(got.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d, %s", name, got.Code, got.Header().Get("Content-Type"))
		}
	}
	if size > 150_000 {
		t.Errorf("the page has %d bytes, want at most 150,000", size)
	}
	if got.Header().Get("Set-Cookie") != "" {
		t.Error("the page sets a cookie")
	}
}

func TestToken(t *testing.T) {
	const path = "/api/v1/leader/step-down"
	if got := get(newTestPage(t, Config{}), "POST", path, nil); got.Code != http.StatusNotFound {
		t.Errorf("without actions: got %d, want 404", got.Code)
	}
	if _, err := New(Config{Token: "short"}); err == nil {
		t.Error("a short token was accepted")
	}
	p := newTestPage(t, Config{Token: "0123456789abcdef"})
	for header, want := range map[string]int{
		"": 401, "Bearer": 401, "Bearer 0123456789abcdeg": 401, "Basic 0123456789abcdef": 401,
		"Bearer 0123456789abcdef": 503, // no leader answers
	} {
		if got := get(p, "POST", path, func(r *http.Request) { r.Header.Set("Authorization", header) }); got.Code != want {
			t.Errorf("%q: got %d, want %d", header, got.Code, want)
		}
	}
	if got := get(p, "GET", path, nil); got.Code != http.StatusNotFound && got.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET of an action: got %d", got.Code)
	}
}

// TestErrorsHaveNoSecrets queries a page that cannot connect.
func TestErrorsHaveNoSecrets(t *testing.T) {
	const secret = "correct-horse"
	where := cluster.Config{NATS: cluster.NATS{URL: "nats://shepherd:" + secret + "@127.0.0.1:1"}}
	p, err := New(Config{Cluster: where})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	for _, path := range []string{"cluster", "workers", "terms", "jobs", "throughput", "save"} {
		got := get(p, "GET", "/api/v1/"+path, nil)
		if got.Code != http.StatusServiceUnavailable || strings.Contains(got.Body.String(), secret) {
			t.Errorf("%s: %d, %s", path, got.Code, got.Body)
		}
	}
}

func TestAgainCommand(t *testing.T) {
	for params, want := range map[string]string{
		`{"limit":1000,"name":"it's"}`: `bw run primes -p limit=1000 -p 'name=it'\''s' --partition `,
		`{"list":[1],"x":"$y"}`:        `printf %s '{"list":[1],"x":"$y"}' | bw run primes --params - --partition `,
		`{}`:                           `bw run primes --partition `,
		`7`:                            ``,
	} {
		if got := againCommand("bw", "primes", []byte(params)); got != want {
			t.Errorf("%s: got %s, want %s", params, got, want)
		}
	}
}
