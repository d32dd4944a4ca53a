package session

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the session uses no clocks, randomness, I/O or goroutines.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 10, Allowed: map[string][]string{
		"cmp": nil, "context": {"Context"}, "errors": nil, "fmt": {"Errorf"}, "math": {"MaxInt64"}, "slices": nil,
		"time":                            {"Duration", "Minute", "Second", "Millisecond"},
		importtest.Module + "jobs":        {"Job", "Params"},
		importtest.Module + "jobs/field":  nil,
		importtest.Module + "jobs/engine": nil,
		importtest.Module + "jobs/wire":   nil,
	}})
}
