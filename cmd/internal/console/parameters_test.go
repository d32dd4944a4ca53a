package console

import (
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/primes"
)

// TestCompleteSchemes completes the value of a parameter with the schemes of the program's sources.
func TestCompleteSchemes(t *testing.T) {
	a := &App{Jobs: []jobs.Job{jobs.MustNew(primes.Definition)}, Sources: []source.Source{{Schemes: []string{"poem://"}, Help: "poems"}}}
	got, _ := a.CompleteParam(nil, []string{"primes"}, "input=p")
	if want := []string{"input=poem://\tpoems"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
