package term

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that a term uses no clocks, randomness, network or goroutines, except through
// its Env.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 10, Allowed: map[string][]string{
		"cmp": {"Compare", "Or"}, "crypto/sha256": nil, "encoding/hex": nil, "errors": nil, "slices": nil, "strings": nil, "sync/atomic": nil,
		"context":                                {"Context", "CancelFunc", "WithCancel", "Cause"},
		"encoding/json":                          {"RawMessage", "Valid"},
		"fmt":                                    {"Sprintf", "Errorf"},
		"log/slog":                               {"Logger"},
		"maps":                                   {"Keys"},
		"time":                                   {"Time", "Duration", "Minute", "Second", "Millisecond"},
		importtest.Module + "coordinator/ledger": nil,
		importtest.Module + "election":           nil,
		importtest.Module + "jobs":               nil,
		importtest.Module + "jobs/field":         nil,
		importtest.Module + "jobs/engine":        nil,
		importtest.Module + "jobs/store":         nil,
		importtest.Module + "jobs/wire":          nil,
	}})
}
