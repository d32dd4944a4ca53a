// Package form writes the values of typed objects, such as Parquet and Avro, as text. A value has the same text in all
// formats, so that a query does not depend on the format of its input.
package form

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// AppendFloat appends the shortest decimal that is parsed as the float f of 32 or 64 bits.
func AppendFloat(b []byte, f float64, bits int) []byte {
	format := byte('f')
	if size := math.Abs(f); size >= 1e21 || size > 0 && size < 1e-9 {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}

// AppendDate appends a date, which is a number of days since 1970, such as 2026-11-22.
func AppendDate(b []byte, days int64) []byte {
	return time.Unix(days*86400, 0).UTC().AppendFormat(b, time.DateOnly)
}

// AppendTime appends a time, which is a number of units since 1970, such as 2026-11-22T21:04:00.5Z.
func AppendTime(b []byte, n int64, unit time.Duration) []byte {
	perSecond := int64(time.Second / unit)
	seconds, rest := n/perSecond, n%perSecond
	return time.Unix(seconds, rest*int64(unit)).UTC().AppendFormat(b, time.RFC3339Nano)
}

// AppendTimeOfDay appends a time of day, which is a number of units since midnight, such as 21:04:00.5.
func AppendTimeOfDay(b []byte, n int64, unit time.Duration) []byte {
	return time.Unix(0, 0).UTC().Add(time.Duration(n)*unit).AppendFormat(b, "15:04:05.999999999")
}

// AppendInterval appends an interval of months, days and milliseconds, which are three numbers of 32 bits, in the form of
// ISO 8601, such as P14M3DT0.25S. Other bytes are appended in hexadecimal.
func AppendInterval(b, x []byte) []byte {
	if len(x) != 12 {
		return hex.AppendEncode(b, x)
	}
	months, days, milliseconds := binary.LittleEndian.Uint32(x), binary.LittleEndian.Uint32(x[4:]), binary.LittleEndian.Uint32(x[8:])
	b = append(b, 'P')
	if months > 0 {
		b = append(strconv.AppendUint(b, uint64(months), 10), 'M')
	}
	if days > 0 {
		b = append(strconv.AppendUint(b, uint64(days), 10), 'D')
	}
	if milliseconds > 0 || months == 0 && days == 0 {
		seconds := exact.New(int64(milliseconds), 3).Short()
		b = append(append(append(b, 'T'), seconds.String()...), 'S')
	}
	return b
}

// AppendUUID appends the 16 bytes of a UUID, such as 00112233-4455-6677-8899-aabbccddeeff. Other bytes are appended in
// hexadecimal.
func AppendUUID(b, x []byte) []byte {
	if len(x) != 16 {
		return hex.AppendEncode(b, x)
	}
	begin := 0
	for _, end := range []int{4, 6, 8, 10, 16} {
		if begin > 0 {
			b = append(b, '-')
		}
		b, begin = hex.AppendEncode(b, x[begin:end]), end
	}
	return b
}

// AppendString appends a string of JSON. A text has exactly one such string: only quotes, backslashes and control
// characters are escaped, and bytes that are not UTF-8 are replaced.
func AppendString(b, text []byte) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for len(text) > 0 {
		switch c := text[0]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRune(text)
			b = utf8.AppendRune(b, r)
			text = text[n-1:]
		}
		text = text[1:]
	}
	return append(b, '"')
}

// Member is a member of a JSON object: its key, and the bounds of its text in a buffer.
type Member struct {
	Key    []byte
	Lo, Hi int
}

// SortMembers returns a buffer whose end, from the offset begin, are the texts of members without commas. It sorts these texts
// by their keys, and separates them by commas. Of equal keys only the last member remains, and distinct is then false.
func SortMembers(b []byte, begin int, members []Member) (_ []byte, distinct bool) {
	slices.SortStableFunc(members, func(a, b Member) int { return bytes.Compare(a.Key, b.Key) })
	sorted := make([]byte, 0, len(b)-begin+len(members))
	distinct = true
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.Key, members[i+1].Key) {
			distinct = false
			continue
		}
		if len(sorted) > 0 {
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, b[m.Lo:m.Hi]...)
	}
	return append(b[:begin], sorted...), distinct
}
