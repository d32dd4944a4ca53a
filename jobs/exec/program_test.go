package exec

import "testing"

// A program whose output is too large may end, because it can write no more, before its limit is
// enforced. The error is the same.
func TestTooMuchOutputOfAnEndedProgram(t *testing.T) {
	const nobody = 1 << 30 // ID that no process can have
	closed := make(chan struct{})
	close(closed)
	for range 20 { // without a check of the order, either channel would be chosen by chance
		if err := (program{}).enforce(t.Context(), newFamily(nobody, t.TempDir()), closed, closed); err == nil {
			t.Fatal("no error for a program whose output is too large")
		}
	}
}
