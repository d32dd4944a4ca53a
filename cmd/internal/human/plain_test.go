package human

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"plain Größe 漢字 👩‍💻":            "plain Größe 漢字 👩‍💻",
		"\x1b[31mred\x07":               `\x1b[31mred\a`,
		"a\u202eb\u2066c\u200fd\u061ce": `a\u202eb\u2066c\u200fd\u061ce`,
		"\u009b2J\x7f\xff\ufffd":        "\\u009b2J\\x7f\\xff\ufffd",
		"a\nb\tc\r":                     `a\nb\tc\r`,
		`<b>"\`:                         `<b>"\`,
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("\x1b]8;;http://x\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Plain(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || strings.ContainsFunc(got, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q becomes %q", text, got)
		}
		if Plain(got) != got {
			t.Errorf("%q changes again", got)
		}
	})
}
