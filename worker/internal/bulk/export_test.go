package bulk

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go"
)

// NewFarClient returns a client for which the holder that listens on a subject runs on another machine.
func NewFarClient(nc *nats.Conn, subject string) *Client {
	c := NewClient(nc)
	c.holders[subject] = offer{statusMalformed}
	return c
}

// Near reports whether the client has connected to the socket of the holder that listens on a subject.
func (c *Client) Near(subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.holders[subject]) > 1
}

// CheckRequest checks that a valid request is encoded as the same bytes. CheckRequest reports
// whether the request is valid.
func CheckRequest(t *testing.T, data []byte) bool {
	job, node, offset, n, ok := decodeRequest(data)
	if ok && !bytes.Equal(encodeRequest(job, node, offset, n), data) {
		t.Errorf("%x is understood as %d bytes from %d of node %v of job %q", data, n, offset, node, job)
	}
	return ok
}
