package human

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain returns a text for one line of a terminal. Characters that could move the cursor, change colors
// or reorder other text are replaced by escape sequences of Go: control characters, marks for the
// direction of text and other invisible characters, and bytes that are not UTF-8. The joiners that
// scripts and emoji need stay.
func Plain(text string) string { return escape(text, false) }

// Lines is like Plain for a text that may have several lines.
func Lines(text string) string { return escape(text, true) }

func escape(text string, lines bool) string {
	var out strings.Builder
	for i, width := 0, 0; i < len(text); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(text[i:])
		switch {
		case lines && (r == '\n' || r == '\t'), isPlain(r) && !(r == utf8.RuneError && width == 1):
			out.WriteString(text[i : i+width])
		default:
			quoted := strconv.QuoteToASCII(text[i : i+width])
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}

func isPlain(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return r == zeroWidthNonJoiner || r == zeroWidthJoiner || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
