package machine

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the state machine uses no clocks, I/O, goroutines or maps, and
// no source of randomness except the given one.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{
		Files:  14,
		NoMaps: true,
		Allowed: map[string][]string{
			"cmp": nil, "errors": nil, "math": nil,
			"fmt":                            {"Errorf", "Sprintf"},
			"log/slog":                       {"Logger", "New", "DiscardHandler"},
			"math/rand/v2":                   {"Rand"},
			"time":                           {"Duration", "Second", "Millisecond"},
			importtest.Module + "jobs/field": nil,
			importtest.Module + "jobs/wire":  nil,
		},
	})
}
