package bulk

import (
	"bytes"
	"testing"
)

// CheckRequest checks that a valid request is encoded as the same bytes. CheckRequest reports
// whether the request is valid.
func CheckRequest(t *testing.T, data []byte) bool {
	job, node, offset, n, ok := decodeRequest(data)
	if ok && !bytes.Equal(encodeRequest(job, node, offset, n), data) {
		t.Errorf("%x is understood as %d bytes from %d of node %v of job %q", data, n, offset, node, job)
	}
	return ok
}
