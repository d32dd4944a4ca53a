package cli_test

import (
	"bytes"
	"regexp"
	"sync"
	"testing"
	"time"
)

// testOutput keeps the output of processes, and logs it if the test fails.
type testOutput struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // receives a value after a write
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

// String returns the output so far.
func (o *testOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *testOutput) print() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.t.Failed() {
		o.t.Logf("output of the processes:\n%s", o.text.String())
	}
}

// await waits until the output matches, and returns the first submatch.
func (o *testOutput) await(pattern *regexp.Regexp) string {
	o.t.Helper()
	deadline := time.After(patience)
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
			o.t.Fatalf("waited %v for %v in the output", patience, pattern)
		}
	}
}
