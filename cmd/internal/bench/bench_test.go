package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/bench/plot"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// measured is a benchmark report of one word.
type measured string

func (m measured) Table(w io.Writer)   { fmt.Fprintln(w, string(m)) }
func (m measured) Figure() plot.Figure { return plot.Figure{Title: string(m)} }

func TestAReportIsPrintedThoughItCannotBeDrawn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plot.svg")
	if err := os.Mkdir(name, 0o755); err != nil { // create the folder during the measurement
		t.Fatal(err)
	}
	var printed strings.Builder
	a := &console.App{Streams: console.Streams{Out: &printed, Err: io.Discard}}
	_, err := measure(t.Context(), a, &benchmark{plot: name}, func(context.Context, tell) (measured, error) {
		return "measured", nil
	})
	if err == nil || !strings.Contains(err.Error(), "plot.svg") {
		t.Errorf("got %v, want an error that names the plot", err)
	}
	if got := printed.String(); got != "measured\n" {
		t.Errorf("printed %q, want the report", got)
	}
}
