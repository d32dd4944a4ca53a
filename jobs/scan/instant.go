package scan

import (
	"bytes"
	"time"
)

// instant returns the sort key of a timestamp in the form of Parquet objects, such as
// 2026-11-22T21:04:00.5Z: the text without Z and without zeros at the end of the fraction. The keys of
// instants have the order of the instants by bytes. For another text, ok is false.
func instant(text []byte) (key []byte, ok bool) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	last := len(text) - 1
	if last < len(shape) || text[10] != 'T' || text[last] != 'Z' {
		return nil, false
	}
	for i := range text[:last] {
		want := byte('d')
		if i < len(shape) {
			want = shape[i]
		} else if i == len(shape) {
			want = '.'
		}
		if digit := text[i]-'0' <= 9; digit != (want == 'd') || !digit && text[i] != want {
			return nil, false
		}
	}
	if key = text[:last]; last > len(shape) {
		key = bytes.TrimRight(bytes.TrimRight(key, "0"), ".")
	}
	return key, true
}

// compareTexts compares two texts by bytes, and two instants by their time. It returns 0 only for equal
// texts.
func compareTexts(a, b []byte) int {
	if x, ok := instant(a); ok {
		if y, ok := instant(b); ok {
			if order := bytes.Compare(x, y); order != 0 {
				return order
			}
		}
	}
	return bytes.Compare(a, b)
}

// textOrder returns a function that compares fields with a constant text. A field that is an instant is
// compared with the time of the constant, if it is the text of a time or of a date.
func textOrder(constant string) func(field []byte) int {
	want, at := []byte(constant), []byte(nil)
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(form, constant); err == nil {
			at, _ = instant(t.UTC().AppendFormat(nil, time.RFC3339Nano))
			break
		}
	}
	return func(field []byte) int {
		if at != nil {
			if key, ok := instant(field); ok {
				return bytes.Compare(key, at)
			}
		}
		return bytes.Compare(field, want)
	}
}
