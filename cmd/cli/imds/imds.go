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

// URL is where the service is on every virtual machine.
const URL = "http://169.254.169.254"

// Versions of the interface.
const (
	eventsPath = "/metadata/scheduledevents?api-version=2020-07-01"
	namePath   = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
)

// Event is something that is about to happen to machines, or is happening.
type Event struct {
	ID        string   `json:"EventId"`
	Type      string   `json:"EventType"` // Preempt, Terminate, Redeploy, Reboot or Freeze
	Resources []string `json:"Resources"` // names of the machines
	Status    string   `json:"EventStatus"`
	NotBefore string   `json:"NotBefore"` // when it may start; empty once it has
}

// EndsMachine reports whether the event takes away what the machine has in memory,
// for good or until it runs again. One that is frozen goes on where it was, and is
// replaced meanwhile as any process that is not heard of.
func (e Event) EndsMachine() bool {
	return slices.Contains([]string{"Preempt", "Terminate", "Redeploy", "Reboot"}, e.Type)
}

// Concerns reports whether a machine is among those the event is about.
func (e Event) Concerns(machine string) bool {
	return slices.ContainsFunc(e.Resources, func(r string) bool { return strings.EqualFold(r, machine) })
}

// Client asks the service.
type Client struct {
	url  string
	http *http.Client
}

// New is a client of the service at a URL. No proxy comes between the two: it would
// be another machine's service that answers.
func New(url string) *Client {
	return &Client{url: url, http: &http.Client{Transport: &http.Transport{
		DialContext:     (&net.Dialer{Timeout: 2 * time.Second}).DialContext,
		MaxIdleConns:    1,
		IdleConnTimeout: 10 * time.Second,
	}}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Name returns the machine's name.
func (c *Client) Name(ctx context.Context) (string, error) {
	name, err := c.do(ctx, http.MethodGet, namePath, nil)
	if err == nil && len(name) == 0 {
		err = fmt.Errorf("get %s: it is empty", namePath)
	}
	return string(name), err
}

// Events returns all that is about to happen.
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

// Approve lets an event start now: its time need not be waited for.
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

// maxAnswer bounds an answer: somebody else may be there.
const maxAnswer = 1 << 20

func (c *Client) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Metadata", "true") // or the service refuses: it may have been forwarded
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
