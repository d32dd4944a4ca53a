package processes

import (
	"strings"
	"sync"
)

// Tail keeps the end of the text that is written to it, for error messages.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 8 << 10

// Write appends text to the tail and never returns an error.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
