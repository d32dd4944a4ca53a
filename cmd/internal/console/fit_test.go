package console

import (
	"bytes"
	"fmt"
	"testing"
)

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
	if w := Fit(&out); w != &out {
		t.Error("output that is no terminal is cut")
	}
}
