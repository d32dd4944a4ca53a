package dataset

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// encodings are the values of the parameter encoding.
const (
	utf8Encoding = "utf-8"
	latin1       = "latin-1"
	windows1252  = "windows-1252"
	utf16Marked  = "utf-16" // the byte order mark or the first character tells the order of the bytes
	utf16Little  = "utf-16le"
	utf16Big     = "utf-16be"
)

// checkEncoding returns an error if the parameter encoding has an unknown value.
func (in Input) checkEncoding() error {
	switch in.Encoding {
	case "", utf8Encoding, latin1, windows1252, utf16Marked, utf16Little, utf16Big:
		return nil
	}
	all := []string{utf8Encoding, latin1, windows1252, utf16Marked, utf16Little, utf16Big}
	return fmt.Errorf("parameter encoding: got %q, takes one of %s", in.Encoding, strings.Join(all, ", "))
}

// isUTF16 reports whether the objects are UTF-16. They are decoded when they are read, and never cut, because a byte of a line
// end may be a part of another character.
func (in Input) isUTF16() bool {
	return in.Encoding == utf16Marked || in.Encoding == utf16Little || in.Encoding == utf16Big
}

// charset contains the characters of the bytes from 0x80 on, in UTF-8. The other bytes are ASCII, so an object can be cut
// between any two bytes, and each record is decoded on its own.
type charset [0x80]string

// charsetOf returns the charset of an input, or nil if its objects are read as UTF-8.
func charsetOf(in Input) *charset {
	if in.Encoding != latin1 && in.Encoding != windows1252 {
		return nil
	}
	var c charset
	for i := range c {
		c[i] = string(rune(0x80 + i))
	}
	if in.Encoding == windows1252 {
		for i, r := range windowsOnly {
			if r != 0 {
				c[i] = string(r)
			}
		}
	}
	return &c
}

// windowsOnly contains the characters of windows-1252 from 0x80 on that differ from those of latin-1. Five bytes have no
// character, and are read as in latin-1, as the Encoding Standard of the WHATWG says.
var windowsOnly = [...]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// append appends a text in UTF-8.
func (c *charset) append(to, text []byte) []byte {
	for _, b := range text {
		if b < utf8.RuneSelf {
			to = append(to, b)
		} else {
			to = append(to, c[b-utf8.RuneSelf]...)
		}
	}
	return to
}

// isClean reports whether records need not be decoded or checked one by one, because the text is UTF-8.
func (l *layout) isClean(text []byte) bool {
	if l.charset == nil {
		return validUTF8(text)
	}
	for _, b := range text {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
