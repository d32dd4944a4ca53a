package source_test

import (
	"context"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// TestBeside checks that a set has another source beside those of With, and beside the default.
func TestBeside(t *testing.T) {
	row := func(scheme string) source.Source {
		d := &memory.Driver{}
		o := d.Put(scheme+"name", []byte("content"))
		return source.Source{Schemes: []string{scheme}, Open: func(context.Context) (source.Driver, error) { return d, nil }, Help: o.Name}
	}
	beside := source.Beside(source.Beside(t.Context(), row("one:")), row("two:"))
	for _, sources := range [][]source.Source{nil, {row("own:")}} {
		ctx, release := source.With(beside, sources)
		set := source.Of(ctx, []source.Source{row("own:")})
		for _, name := range []string{"one:name", "two:name", "own:name"} {
			for _, err := range set.List(ctx, name) {
				if err != nil {
					t.Error(err)
				}
			}
		}
		release()
	}
}
