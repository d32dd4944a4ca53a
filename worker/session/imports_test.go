package session

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports keeps clocks, randomness, I/O and goroutines out of the session.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 10, Allowed: map[string][]string{
		"cmp": nil, "context": {"Context"}, "errors": nil, "fmt": {"Errorf"}, "math": {"MaxInt64"}, "slices": nil,
		"time":                          {"Duration", "Minute", "Second", "Millisecond"},
		importtest.Module + "jobs":      nil,
		importtest.Module + "jobs/wire": nil,
	}})
}
