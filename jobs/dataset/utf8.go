package dataset

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

var errUTF8 = errors.New("the text is not UTF-8: for csv, tsv and lines give the parameter encoding, such as latin-1, windows-1252 or utf-16, or convert the object, for example with iconv -t UTF-8")

// validUTF8 reports whether text is UTF-8. It is faster than utf8.Valid for text with few
// characters that are not ASCII.
func validUTF8(text []byte) bool {
	for {
		for len(text) >= 8 && binary.LittleEndian.Uint64(text)&0x8080808080808080 == 0 {
			text = text[8:]
		}
		for len(text) > 0 && text[0] < utf8.RuneSelf {
			text = text[1:]
			if len(text) >= 8 && binary.LittleEndian.Uint64(text)&0x8080808080808080 == 0 {
				break
			}
		}
		if len(text) == 0 {
			return true
		}
		for len(text) >= 2 && text[0] >= 0xc2 && text[0] <= 0xdf && text[1]&0xc0 == 0x80 { // most letters of European languages
			text = text[2:]
		}
		if len(text) == 0 || text[0] < utf8.RuneSelf {
			continue
		}
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			return false
		}
		text = text[size:]
	}
}
