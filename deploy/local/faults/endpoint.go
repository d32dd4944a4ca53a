package faults

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Endpoint is a storage endpoint at which every request fails. The error answer of an Endpoint, if
// there is one, contains the whole request.
type Endpoint struct {
	Name string
	URL  string // URL of the endpoint without a path
}

// BadEndpoints starts an [Endpoint] for each kind of failure. The caller must call the returned
// function stop, which ends all requests.
func BadEndpoints() (list []Endpoint, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	silent := log.New(io.Discard, "", 0)
	add := func(name string, tls bool, handler http.HandlerFunc) {
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = silent
		if tls {
			s.StartTLS()
		} else {
			s.Start()
		}
		list, stops = append(list, Endpoint{name, s.URL}), append(stops, s.Close)
	}
	for _, status := range []int{400, 403, 500} {
		add(fmt.Sprint(status), false, func(w http.ResponseWriter, r *http.Request) { echo(w, r, status, "AuthenticationFailed") })
	}
	add("code quotes the request", false, func(w http.ResponseWriter, r *http.Request) { echo(w, r, 403, requestText(r)) })
	add("redirect", false, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1"+r.URL.String(), http.StatusTemporaryRedirect)
	})
	add("unknown authority", true, func(w http.ResponseWriter, r *http.Request) { echo(w, r, 500, "InternalError") })

	for _, raw := range []struct {
		name   string
		handle func(net.Conn)
	}{
		{"closes", func(net.Conn) {}},
		{"no HTTP", func(c net.Conn) {
			line, _ := bufio.NewReader(c).ReadString('\n') // after an error the line is empty, which does not matter
			_, _ = io.WriteString(c, line+"\r\n\r\n")
		}},
		{"no answer", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }},
	} {
		url, end, err := listen(raw.handle)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("start a bad endpoint: %w", err)
		}
		list, stops = append(list, Endpoint{raw.name, url}), append(stops, end)
	}
	list = append(list,
		Endpoint{"unreachable", "http://127.0.0.1:1"},
		// A label of 64 bytes is not valid in a host name (RFC 1035, section 2.3.4), so no name
		// server is asked for the name.
		Endpoint{"unknown host", "http://" + strings.Repeat("x", 64)},
		Endpoint{"no TLS", strings.Replace(list[0].URL, "http://", "https://", 1)},
	)
	return list, stop, nil
}

// echo answers with an error in Azure's format that contains the whole request.
func echo(w http.ResponseWriter, r *http.Request, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message><![CDATA[%s]]></Message></Error>", code, requestText(r))
}

func requestText(r *http.Request) string {
	return fmt.Sprintf("%s http://%s%s %v", r.Method, r.Host, r.URL, r.Header)
}

// listen accepts connections, and passes each one to the function handle. The returned function
// stop closes the connections and waits until handle has returned.
func listen(handle func(net.Conn)) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var (
		mu      sync.Mutex
		open    = map[net.Conn]bool{}
		stopped bool
		running sync.WaitGroup
	)
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			mu.Lock()
			if stopped {
				_ = c.Close()
				mu.Unlock()
				return
			}
			open[c] = true
			running.Go(func() {
				handle(c)
				mu.Lock()
				defer mu.Unlock()
				delete(open, c)
				_ = c.Close()
			})
			mu.Unlock()
		}
	})
	return "http://" + l.Addr().String(), func() {
		mu.Lock()
		stopped = true
		_ = l.Close()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	}, nil
}
