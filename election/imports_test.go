package election

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports keeps clocks, I/O, goroutines, maps and the shell out of the
// election's state machine, and all randomness but the source it is given.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{
		Files:  10,
		NoMaps: true,
		Exempt: []string{"hold.go", "lease.go", "lease_context.go", "peers.go", "perform.go", "run.go", "term.go"},
		Allowed: map[string][]string{
			"cmp": nil, "errors": nil, "math": nil,
			"fmt":                           {"Errorf", "Sprintf"},
			"log/slog":                      {"Logger", "New", "DiscardHandler"},
			"math/rand/v2":                  {"Rand"},
			"time":                          {"Duration", "Second", "Millisecond"},
			importtest.Module + "jobs/wire": nil,
		},
	})
}
