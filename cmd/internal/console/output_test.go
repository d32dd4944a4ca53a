package console

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestHostileTexts prints texts from outside, which must not control the terminal.
func TestHostileTexts(t *testing.T) {
	const hostile = "error \x1b]0;title\x07\x1b[2J \u202etxt.exe\u2066 \u009b31m \xff\r"
	var out, notes bytes.Buffer
	a := &App{Streams: Streams{Out: &out, Err: &notes}, Name: "name"}
	if err := a.Show(nil, func(w io.Writer) { Row(w, "error", hostile, []string{hostile}) }); err != nil {
		t.Fatal(err)
	}
	a.Note("job: %s", hostile+"\nstack")
	for _, text := range []string{out.String(), notes.String()} {
		if strings.ContainsAny(text, "\x1b\x07\r\u202e\u2066\u009b") || !strings.Contains(text, `\x1b[2J \u202etxt.exe\u2066`) {
			t.Errorf("got %q", text)
		}
	}
	if !strings.HasSuffix(notes.String(), "\nstack\n") {
		t.Errorf("got %q, want the line breaks of the text", notes.String())
	}
}
