package election

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the election's state machine uses no clocks, I/O, goroutines or maps, and
// no source of randomness except the given one.
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
