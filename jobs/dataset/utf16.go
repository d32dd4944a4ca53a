package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader decodes UTF-16 to UTF-8, without the byte order mark.
type utf16Reader struct {
	from     io.Reader
	object   string
	encoding string

	order binary.ByteOrder // nil before the first bytes
	raw   []byte           // memory for stored bytes
	left  int              // number of bytes at the beginning of raw that are not decoded, because a character is incomplete
	at    int64            // offset of raw
	out   []byte           // decoded text that was not returned
	all   []byte           // memory for decoded text
	err   error
}

func newUTF16Reader(from io.Reader, object, encoding string) *utf16Reader {
	return &utf16Reader{from: from, object: object, encoding: encoding, raw: make([]byte, 32<<10)}
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 && u.err == nil {
		u.fill()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	if n == 0 && len(p) > 0 {
		return 0, u.err
	}
	return n, nil
}

// fill decodes the next bytes.
func (u *utf16Reader) fill() {
	n, err := u.from.Read(u.raw[u.left:])
	text := u.raw[:u.left+n]
	if u.order == nil && (len(text) >= 2 || err != nil && len(text) > 0) {
		u.err = u.begin(text)
	}
	used := 0
	if u.order != nil && u.err == nil {
		used, u.err = u.decode(text)
	}
	u.left = copy(u.raw, text[used:])
	u.at += int64(used)
	switch {
	case u.err != nil || err == nil:
	case errors.Is(err, io.EOF) && u.left > 0:
		u.err = u.fault("the object ends in the middle of a character of UTF-16: write the object again")
	default:
		u.err = err
	}
}

func (u *utf16Reader) fault(format string, args ...any) error {
	return &Fault{Object: u.object, Offset: u.at, Text: fmt.Sprintf(format, args...)}
}

var (
	littleMark = []byte{0xff, 0xfe}
	bigMark    = []byte{0xfe, 0xff}
)

// begin finds the order of the bytes from the first two.
func (u *utf16Reader) begin(text []byte) error {
	little, big := bytes.HasPrefix(text, littleMark), bytes.HasPrefix(text, bigMark)
	switch {
	case little && u.encoding == utf16Big, big && u.encoding == utf16Little:
		return u.fault("the byte order mark is not that of %s: give the parameter encoding=%s", u.encoding, utf16Marked)
	case little || u.encoding == utf16Little:
		u.order = binary.LittleEndian
	case big || u.encoding == utf16Big:
		u.order = binary.BigEndian
	case len(text) >= 2 && text[0] != 0 && text[1] == 0: // an ASCII character
		u.order = binary.LittleEndian
	case len(text) >= 2 && text[0] == 0 && text[1] != 0:
		u.order = binary.BigEndian
	default:
		return u.fault("the object has no byte order mark: give the parameter encoding=%s or %s, or another encoding", utf16Little, utf16Big)
	}
	return nil
}

// decode decodes the complete characters of a text, and returns their number of bytes.
func (u *utf16Reader) decode(text []byte) (used int, err error) {
	u.all = u.all[:0]
	defer func() { u.out = u.all }()
	for used+2 <= len(text) {
		r, size := rune(u.order.Uint16(text[used:])), 2
		switch {
		case utf16.IsSurrogate(r) && used+4 > len(text) && r < 0xdc00:
			return used, nil // the other half follows
		case utf16.IsSurrogate(r):
			low := rune(0)
			if used+4 <= len(text) {
				low = rune(u.order.Uint16(text[used+2:]))
			}
			if r, size = utf16.DecodeRune(r, low), 4; r == utf8.RuneError {
				u.at += int64(used)
				return 0, u.fault("a half of a character of UTF-16 without the other: write the object again, or check the parameter encoding")
			}
		case r == 0xfeff && u.at == 0 && used == 0: // the byte order mark
			used += 2
			continue
		}
		u.all = utf8.AppendRune(u.all, r)
		used += size
	}
	return used, nil
}
