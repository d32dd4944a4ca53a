package console

import (
	"slices"
	"strings"
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

// TestTooLarge reads parameters that are larger than any command allows. The error names the limit of
// the command.
func TestTooLarge(t *testing.T) {
	job := jobs.MustNew(primes.Definition)
	for limit, want := range map[int]string{0: "at most 1048576 bytes", 4000: "at most 4000 bytes"} {
		a := &App{}
		a.In = strings.NewReader(strings.Repeat(" ", 2<<20))
		p := ParamFlags{Limit: limit, file: "-"}
		if _, err := p.Read(a, job); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("limit %d: got error %v, want %q", limit, err, want)
		}
	}
}
