package web_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/web"
)

// read returns the error of the listing of a URL.
func read(t *testing.T, url string, hosts ...string) (err error) {
	t.Helper()
	client := web.NewClient(hosts)
	defer client.CloseIdleConnections()
	for _, listed := range web.New(client).List(t.Context(), url) {
		err = listed
	}
	return err
}

// serveText answers the first bytes of each connection with a text, and returns the address. It does
// not write earlier, because a client that reads the text before it has written its request reports
// another error.
func serveText(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4<<10))
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestPrivateServers checks that a submitter reaches only servers that the operator has named, and
// that errors do not tell open ports from closed ones.
func TestPrivateServers(t *testing.T) {
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-0/1")
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusPartialContent)
		fmt.Fprint(w, "s")
	}))
	defer secret.Close()
	open := strings.TrimPrefix(secret.URL, "http://")
	_, port, err := net.SplitHostPort(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		secret.URL + "/a", "https://" + open + "/a", "https://127.0.0.1:1/a", "https://localhost:" + port + "/a", "https://localhost.:" + port + "/a",
		"https://[::1]:" + port + "/a", "https://[::ffff:127.0.0.1]:" + port + "/a", "https://0.0.0.0:" + port + "/a", "https://[::]:" + port + "/a",
		"https://127.1:" + port + "/a", "https://2130706433:" + port + "/a", "https://0x7f.0.0.1:" + port + "/a",
		"https://169.254.169.254/metadata/instance", "http://169.254.169.254/metadata/instance",
		"https://[64:ff9b::7f00:1]:" + port + "/a", "https://10.0.0.1/a", "http://example.com/a",
	} {
		err := read(t, url)
		unresolved := err != nil && strings.Contains(err.Error(), "no such host") // the resolver knows no other notation of addresses
		if !unresolved && (!errors.Is(err, source.ErrDenied) || !strings.Contains(err.Error(), "only https:// URLs of servers with public addresses: start the worker with --web ")) {
			t.Errorf("%s: got %v, want a refusal that names the rule and the flag", url, err)
		}
	}
	if a, b := read(t, "https://"+open+"/a"), read(t, "https://127.0.0.1:1/a"); strings.ReplaceAll(a.Error(), open, "127.0.0.1:1") != b.Error() {
		t.Errorf("an open port gives %v, and a closed one %v", a, b)
	}
	for _, hosts := range [][]string{{open}, {"example.com", open}, {web.AnyHost}} {
		if err := read(t, secret.URL+"/a", hosts...); err != nil {
			t.Errorf("%q: %v", hosts, err)
		}
	}
	for _, hosts := range [][]string{{"127.0.0.1:1"}, {"127.0.0.1"}, {"localhost"}, {"example.com"}, {""}} {
		if err := read(t, secret.URL+"/a", hosts...); !errors.Is(err, source.ErrDenied) {
			t.Errorf("%q: got %v, want ErrDenied", hosts, err)
		}
	}
}

// TestRedirects checks that a server cannot redirect to a server that jobs may not read from.
func TestRedirects(t *testing.T) {
	asked := make(chan string, 9)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer target.Close()
	address := strings.TrimPrefix(target.URL, "http://")
	for _, to := range []string{target.URL + "/token?sig=SECRET", "https://" + address + "/", "https://169.254.169.254/metadata/identity", "file:///etc/passwd"} {
		server := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		err := read(t, server.URL+"/a", strings.TrimPrefix(server.URL, "http://"))
		server.Close()
		if !errors.Is(err, source.ErrDenied) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("redirect to %s: got %v, want ErrDenied without the query", to, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the target was asked for %s", <-asked)
	}
}

// TestDiscreetErrors checks that errors of a named server do not contain what another service says,
// and do not tell whether its port is open.
func TestDiscreetErrors(t *testing.T) {
	const banner = "SSH-2.0-Secret\r\n"
	texts := map[string]bool{}
	for _, address := range []string{serveText(t, banner), serveText(t, ""), "127.0.0.1:1"} {
		for _, scheme := range []string{"http://", "https://"} {
			err := read(t, scheme+address+"/a", address)
			if !errors.Is(err, source.ErrUnavailable) || strings.Contains(err.Error(), "Secret") {
				t.Errorf("%s%s: got %v, want ErrUnavailable without the banner", scheme, address, err)
				continue
			}
			texts[strings.NewReplacer(address, "", scheme, "").Replace(err.Error())] = true
		}
	}
	if len(texts) != 1 {
		t.Errorf("got different texts: %v", texts)
	}
	address := serveText(t, "HTTP/1.1 400 Secret-2.0\r\n\r\n")
	if err := read(t, "http://"+address+"/a", address); err == nil || strings.Contains(err.Error(), "Secret") {
		t.Errorf("got %v, want an error without the text of the server", err)
	}
	if err := read(t, "http://"+serveText(t, banner)+"/a", web.AnyHost); err == nil || !strings.Contains(err.Error(), "Secret") {
		t.Errorf("with AnyHost: got %v, want the whole error", err)
	}
}
