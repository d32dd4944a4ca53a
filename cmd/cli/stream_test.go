package cli

import (
	"bytes"
	"testing"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
)

// TestEmptyColumns checks that a list has no column that is empty in all rows, and that an empty list has all headings.
func TestEmptyColumns(t *testing.T) {
	show := func(rows ...[]any) string {
		var out bytes.Buffer
		a := &app{App: &console.App{Streams: Streams{Out: &out}}}
		list, err := newStream[int](a, "ID", "NAME", "REASON")
		if err != nil {
			t.Fatal(err)
		}
		for i, cells := range rows {
			if err := list.add(i, cells...); err != nil {
				t.Fatal(err)
			}
		}
		if err := list.end(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got, want := show([]any{"a", "", "late"}, []any{"b", "", ""}), "ID  REASON\na   late\nb   \n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := show(), "ID  NAME  REASON\n"; got != want {
		t.Errorf("an empty list: got %q, want %q", got, want)
	}
}
