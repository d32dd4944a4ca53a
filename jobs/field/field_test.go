package field_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/field"
)

func TestCheck(t *testing.T) {
	for want, err := range map[string]error{
		"Slots 0: want 1 to 9":                   field.Check(false, "Slots", 0, "1 to %d", 9),
		"Lease 1s: want at least 15s":            field.Check(false, "Lease", time.Second, "at least %v", 15*time.Second),
		`How "hug": want kill`:                   field.Check(false, "How", "hug", "kill"),
		`Programs ["a" ""]: want names`:          field.Check(false, "Programs", []string{"a", ""}, "names"),
		"Store: want a store":                    field.Check(false, "Store", nil, "a store"),
		"MaxSkipped 200: want at most 100%, 1 %": field.Check(false, "MaxSkipped", 200, "at most 100%%, %v", "1 %"),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := field.Check(true, "Slots", 1, "1 to %d", 9); err != nil {
		t.Errorf("got %v for a value that the field takes", err)
	}
}

// The error of a configuration names the field to a program that has set the field from a flag.
func ExampleError() {
	err := fmt.Errorf("configure worker: %w", field.Check(false, "Slots", 0, "1 to %d", 1000))
	if e, ok := errors.AsType[*field.Error](err); ok {
		fmt.Printf("--slots %v: want %s\n", e.Value, e.Want)
	}
	// Output: --slots 0: want 1 to 1000
}
