package console

import (
	"bytes"
	"fmt"
	"testing"
)

// TestColours checks that only states have colours, and that these do not move the columns.
func TestColours(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out, true)
	Row(table, "ID", State("STATE"), "DONE")
	Row(table, "\x1b[31ma", State("completed"), 5)
	Row(table, "b", State("failed"), 6)
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "ID         \x1b[39mSTATE\x1b[0m      DONE\n" +
		`\x1b[31ma` + "  \x1b[32mcompleted\x1b[0m  5\n" +
		"b          \x1b[31mfailed\x1b[0m     6\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	out.Reset()
	table = NewTable(&out)
	Row(table, State("failed"))
	if err := table.Flush(); err != nil || out.String() != "failed\n" {
		t.Errorf("without a terminal: got %q, %v", out.String(), err)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &cutter{out: &out, columns: 5}
	for _, text := range []string{"1234567\nab", "cdeß", "f\nübergroß\n", "\n12345\n"} {
		if n, err := fmt.Fprint(c, text); err != nil || n != len(text) {
			t.Errorf("wrote %d bytes of %q: %v", n, text, err)
		}
	}
	if got, want := out.String(), "12345\nabcde\nüberg\n\n12345\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	fmt.Fprint(c, "\x1b[32mcompleted\x1b[0m\nx\n")
	if got, want := out.String(), "\x1b[32mcompl\x1b[0m\nx\n"; got != want {
		t.Errorf("colours: got %q, want %q", got, want)
	}
	if w := Fit(&out); w != &out {
		t.Error("output that is no terminal is cut")
	}
}
