package ledger

import (
	"testing"

	"github.com/bellwether-compute/bellwether/deploy/local/importtest"
)

// TestImports checks that the ledger uses no clocks, randomness, I/O or goroutines. The ledger may
// use only the records of package store, which do not import a driver.
func TestImports(t *testing.T) {
	importtest.Check(t, importtest.Rules{Files: 10, Allowed: map[string][]string{
		"cmp": nil, "errors": nil, "iter": nil, "math": nil, "math/bits": nil, "slices": nil,
		"fmt":                             {"Append", "Sprint", "Sprintf", "Errorf"},
		"maps":                            {"DeleteFunc", "Keys", "Values"},
		"strings":                         {"Cut", "ToValidUTF8"},
		"time":                            {"Duration", "Hour", "Minute", "Second", "Millisecond", "Microsecond"},
		importtest.Module + "jobs/field":  nil,
		importtest.Module + "jobs":        {"Estimated", "Stopped"},
		importtest.Module + "jobs/engine": {"Span", "Node", "Tree", "NewTree", "Leaf", "MaxPartitions", "NextRung", "LastRung", "RungNumber", "JobOf", "CountedRound", "Durations"},
		importtest.Module + "jobs/store":  {"Spec", "State", "Work", "Cost", "Reused", "Contributor", "Attempt", "CallRecord", "CrashSuspect", "ErrorText", "Queued", "Running", "Completed", "Failed", "Cancelled", "MaxSkipped", "EventKind", "DeathEvent", "FailureEvent"},
		importtest.Module + "jobs/wire":   nil,
	}})
}
