// Package faults injects network faults and storage faults for tests.
//
//	Transport   into single HTTP requests: delays, resets, error answers, and answers
//	            lost after the request took effect. It is the transport of an account
//	            in this process, or a proxy between processes ([Transport.Handler]).
//	TCPProxy    into whole TCP connections: delays, stalls and resets. It works for NATS
//	            as well.
//	Endpoint    a server that fails every request, with an answer that quotes the request.
package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store/azure/account"
)

// Fault describes a fault in one request. The zero Fault changes nothing.
type Fault struct {
	Delay time.Duration // time before the request is forwarded
	Late  time.Duration // time before the answer is delivered

	// Status, if not 0, is the HTTP status of an error answer; storage does not get the request. Code is the
	// error code of the error answer. RetryAfter, if not 0, is the answer's Retry-After header in seconds.
	Status     int
	Code       string
	RetryAfter int

	Reset      bool // the connection is reset, and the request has no effect
	LoseAnswer bool // the request takes effect, and then the connection is reset
	CutAnswer  bool // the request takes effect, but only half of the answer's body is delivered
}

// Decide returns the fault for a request. A Decide function may be called from several goroutines.
type Decide func(kind account.Kind, r *http.Request) Fault

// Transport forwards requests and injects the faults that its Decide function returns.
type Transport struct {
	queueHost string
	base      *http.Transport

	mu       sync.Mutex
	decide   Decide
	observe  Observe
	requests map[account.Kind]int
}

// Observe is called with each request that storage has answered, even if the answer is not
// delivered. An Observe function may be called from several goroutines.
type Observe func(kind account.Kind, r *http.Request, body []byte, answer *http.Response)

// New returns a transport that does not inject faults until Set is called. The parameter queueURL
// identifies requests to the account's queues.
func New(queueURL string) (*Transport, error) {
	u, err := url.Parse(queueURL)
	if err != nil {
		return nil, fmt.Errorf("make a faulty transport: %w", err)
	}
	return &Transport{
		queueHost: u.Host,
		base:      &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 32},
		requests:  map[account.Kind]int{},
	}, nil
}

// Set replaces the function that chooses each request's fault. If decide is nil, no faults are
// injected.
func (t *Transport) Set(decide Decide) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decide = decide
}

// SetObserver replaces the observer, or removes it if observe is nil.
func (t *Transport) SetObserver(observe Observe) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observe = observe
}

// Requests returns the number of requests of the given kinds so far, or of all kinds if kinds is
// empty. Each retry and each request with a fault counts as a request.
func (t *Transport) Requests(kinds ...account.Kind) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(kinds) == 0 {
		kinds = slices.Collect(maps.Keys(t.requests))
	}
	n := 0
	for _, kind := range kinds {
		n += t.requests[kind]
	}
	return n
}

// Close closes the idle connections of the transport.
func (t *Transport) Close() { t.base.CloseIdleConnections() }

// Do implements the transport interface of the Azure SDK.
func (t *Transport) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	kind, fault := t.faultOf(r)
	if err := wait(r, fault.Delay); err != nil {
		return nil, err
	}
	switch {
	case fault.Reset:
		closeBody(r)
		return nil, reset("before the request")
	case fault.Status != 0:
		closeBody(r)
		return answer(r, fault), nil
	}
	resp, err := t.send(kind, r)
	if err != nil {
		return nil, err
	}
	if fault.LoseAnswer {
		_, err := io.Copy(io.Discard, resp.Body)
		return nil, errors.Join(reset("after the request"), err, resp.Body.Close())
	}
	if err := wait(r, fault.Late); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	if fault.CutAnswer {
		resp.Body = &cut{resp.Body, resp.ContentLength / 2}
	}
	return resp, nil
}

// send forwards a request and calls the observer with the answer.
func (t *Transport) send(kind account.Kind, r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	observe := t.observe
	t.mu.Unlock()
	if observe == nil || r.Body == nil {
		return t.base.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	closeBody(r)
	if err != nil {
		return nil, err
	}
	copied := r.Clone(context.WithoutCancel(r.Context())) // a cancelled request that took effect must be observed too
	copied.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := t.base.RoundTrip(copied)
	if err == nil {
		observe(kind, r, body, resp)
	}
	return resp, err
}

// cut is the body of an answer whose connection is reset after a number of bytes.
type cut struct {
	io.ReadCloser
	left int64
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, reset("amid the answer")
	}
	n, err := c.ReadCloser.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

func (t *Transport) faultOf(r *http.Request) (account.Kind, Fault) {
	service := account.Blob
	if r.URL.Host == t.queueHost {
		service = account.Queue
	}
	kind := account.Classify(service, r)
	t.mu.Lock()
	decide := t.decide
	t.requests[kind]++
	t.mu.Unlock()
	if decide == nil {
		return kind, Fault{}
	}
	return kind, decide(kind, r)
}

func reset(when string) error { return fmt.Errorf("%s: %w", when, syscall.ECONNRESET) }

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // a transport must close the body; errors of Close do not matter after reading
	}
}

func wait(r *http.Request, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func answer(r *http.Request, fault Fault) *http.Response {
	body := fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>injected</Message></Error>`, fault.Code)
	header := http.Header{"Content-Type": {"application/xml"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
	if fault.Code != "" {
		header.Set("X-Ms-Error-Code", fault.Code)
	}
	if fault.RetryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(fault.RetryAfter))
	}
	if r.Method == http.MethodHead {
		body = ""
	}
	return &http.Response{
		StatusCode: fault.Status, Status: fmt.Sprintf("%d %s", fault.Status, http.StatusText(fault.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// Handler returns an HTTP handler that forwards requests to one of the account's
// endpoints. If a request or an answer is lost, the handler closes the client's
// connection.
func (t *Transport) Handler(endpoint string) (http.Handler, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("make a faulty proxy: %w", err)
	}
	target.Path = "" // paths of requests already contain the account, so remove it from the target
	return &httputil.ReverseProxy{
		Transport:    t,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}, nil
}
