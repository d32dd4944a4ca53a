package imds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// URL is the address of the metadata service on every virtual machine.
const URL = "http://169.254.169.254"

// The paths of the metadata service contain the API versions.
const (
	eventsPath = "/metadata/scheduledevents?api-version=2020-07-01"
	namePath   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
)

// Event is an event that the metadata service announced.
type Event struct {
	ID        string   `json:"EventId"`
	Type      string   `json:"EventType"` // type of the event: Preempt, Terminate, Redeploy, Reboot or Freeze
	Resources []string `json:"Resources"` // names of the machines that the event affects
	Status    string   `json:"EventStatus"`
	NotBefore string   `json:"NotBefore"` // time at which the event may start; empty once the event has started
}

// EndsMachine reports whether the machine loses its memory in the event. A frozen machine resumes
// with its memory intact; its process does not respond until then.
func (e Event) EndsMachine() bool {
	return slices.Contains([]string{"Preempt", "Terminate", "Redeploy", "Reboot"}, e.Type)
}

// Affects reports whether a machine is among the event's resources.
func (e Event) Affects(machine string) bool {
	return slices.ContainsFunc(e.Resources, func(r string) bool { return strings.EqualFold(r, machine) })
}

// Client sends requests to the metadata service.
type Client struct {
	url  string
	http *http.Client
}

// New returns a client of the metadata service at a URL. The client uses no proxy, because the
// request must come from the machine itself.
func New(url string) *Client {
	return &Client{url: url, http: &http.Client{Transport: &http.Transport{
		DialContext:     (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
		MaxIdleConns:    1,
		IdleConnTimeout: 10 * time.Second,
	}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Name returns the machine's name.
func (c *Client) Name(ctx context.Context) (string, error) {
	name, err := c.do(ctx, http.MethodGet, namePath, nil)
	if err == nil && len(name) == 0 {
		err = fmt.Errorf("get %s: the answer is empty", namePath)
	}
	return string(name), err
}

// Events returns all announced events.
func (c *Client) Events(ctx context.Context) ([]Event, error) {
	data, err := c.do(ctx, http.MethodGet, eventsPath, nil)
	if err != nil {
		return nil, err
	}
	var document struct{ Events []Event }
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("decode scheduled events: %w", err)
	}
	return document.Events, nil
}

// Approve allows an event to start before its announced time.
func (c *Client) Approve(ctx context.Context, e Event) error {
	type request struct {
		EventID string `json:"EventId"`
	}
	body, err := json.Marshal(struct{ StartRequests []request }{[]request{{e.ID}}})
	if err != nil {
		return fmt.Errorf("encode approval: %w", err)
	}
	_, err = c.do(ctx, http.MethodPost, eventsPath, body)
	return err
}

// maxAnswer bounds the size in bytes of a reply, because an unrelated service may answer at the
// address.
const maxAnswer = 1 << 20

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Metadata", "true") // the service requires this header, which proves that no proxy forwarded the request
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the metadata service: %w", err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read the metadata service's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the metadata service: it answers %s", answer.Status)
	}
	return data, nil
}
