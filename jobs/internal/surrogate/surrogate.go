// Package surrogate finds escape sequences in JSON that are no characters. UTF-16 writes some characters as a pair of
// surrogates, and JSON can contain one half of a pair alone. Package json replaces all of these by the same character.
package surrogate

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Check returns an error if a text of JSON has half of a surrogate pair without the other half.
func Check(text []byte) error {
	if at := lone(text); at >= 0 {
		return fmt.Errorf("%.12q: half of a surrogate pair is no character, so different texts would become the same", text[at:])
	}
	return nil
}

// lone returns the position of the first escape sequence that is half of a surrogate pair, without the other half, or -1.
func lone(text []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], '\\')
		if next < 0 {
			return -1
		}
		at += next
		switch r := half(text[at:]); {
		case r == 0:
			at += 2 // an escape sequence has at least two bytes, and the second one may be a backslash
		case utf16.DecodeRune(r, half(text[at+escapeSize:])) == utf8.RuneError:
			return at
		default:
			at += 2 * escapeSize
		}
		if at >= len(text) {
			return -1
		}
	}
}

const escapeSize = len(`\u0000`)

// half returns the half of a surrogate pair whose escape sequence begins the text, or 0.
func half(text []byte) rune {
	if len(text) < escapeSize || text[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(text[2:escapeSize]), 16, 16)
	if err != nil || text[0] != '\\' || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}
