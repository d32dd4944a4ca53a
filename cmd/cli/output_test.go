package cli_test

import (
	"bytes"
	"regexp"
	"sync"
	"testing"
	"time"
)

// testOutput keeps what processes write, for a test that fails.
type testOutput struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // holds one
}

func newTestOutput(t *testing.T) *testOutput {
	o := &testOutput{t: t, more: make(chan struct{}, 1)}
	t.Cleanup(o.print)
	return o
}

func (o *testOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(data)
}

// String is all that was written by now.
func (o *testOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *testOutput) print() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.t.Failed() {
		o.t.Logf("what the processes wrote:\n%s", o.text.String())
	}
}

// await waits for a match and returns its first group.
func (o *testOutput) await(pattern *regexp.Regexp) string {
	o.t.Helper()
	deadline := time.After(flockPatience)
	for {
		o.mu.Lock()
		match := pattern.FindSubmatch(o.text.Bytes())
		o.mu.Unlock()
		if match != nil {
			return string(match[1])
		}
		select {
		case <-o.more:
		case <-deadline:
			o.t.Fatalf("waited %v in vain for %v in the output", flockPatience, pattern)
		}
	}
}
