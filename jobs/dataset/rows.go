package dataset

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// repeated returns a 64-bit word in which each byte is b.
func repeated(b byte) uint64 { return uint64(b) * 0x0101010101010101 }

// zeros returns a word in which the highest bit of each byte is set if that byte of x is 0. All
// other bits are 0.
func zeros(x uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ^((x&low + low) | x | low)
}

// holds returns 0 only if no byte of x is 0. It takes fewer operations than zeros.
func holds(x uint64) uint64 { return (x - repeated(1)) & ^x & repeated(0x80) }

// wordAt returns the eight bytes of text at an offset. Zeros follow the end of the text, which are never delimiters, line
// ends or quotes.
func wordAt(text []byte, at int) uint64 {
	if at+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[at:])
	}
	var last [8]byte
	copy(last[:], text[at:])
	return binary.LittleEndian.Uint64(last[:])
}

// rows folds the complete records at the beginning of text, which must be UTF-8. It is a fast version of the method
// records. It calls the method record only for unusual rows, and stops before a row with a quote that does not enclose a
// whole field. If quotes is false, the text contains no quotes.
func (s *scanner[A]) rows(text []byte, begin int64, quotes bool) (used int) {
	f := finder{delimiter: s.layout.delimiter, quote: '\n', trims: s.layout.spaces != "", fields: s.rec.fields, wanted: s.rec.wanted}
	if quotes {
		f.quote = s.layout.quote
	}
	for s.out.Fault == nil {
		end, count := f.find(text[used:])
		if end < 0 {
			break
		}
		s.row(text[used:used+end], begin+int64(used), count)
		used += end
	}
	return used
}

// row folds a row with its line end and with a number of fields, whose bounds a finder has found.
func (s *scanner[A]) row(text []byte, offset int64, count int) {
	r, end := s.rec, len(text)-1
	if end > 0 && text[end-1] == '\r' {
		end--
		r.fields[min(count, len(r.fields))-1].hi--
	}
	if count != len(r.fields) || offset == 0 || end == 0 || s.leads || text[0] == s.layout.comment {
		s.record(text, offset, false)
		return
	}
	r.object, r.offset, r.text, r.data = s.object.Name, offset, text[:end], text[:end]
	if s.layout.spaces != "" {
		r.trimFields()
	}
	err := s.fold(&s.acc, r)
	s.count(err == nil, err, r.object, offset)
}

// finder finds the fields of rows. It reads eight bytes at a time.
type finder struct {
	delimiter, quote byte    // quote is '\n' if no character is a quote
	trims            bool    // true if spaces may be around fields and their quotes
	fields           []bound // bounds of the fields of the last row
	wanted           []int   // index of the first wanted field from each field on; fields before it are only counted
}

// find returns the length of the first row of text with its line end, and its number of fields. The length is negative if
// text does not contain the whole row, or if a quote of the row does not enclose a whole field.
func (f *finder) find(text []byte) (length, count int) {
	delimiters, lineEnds, quotes := repeated(f.delimiter), repeated('\n'), repeated(f.quote)
	begin, closing := 0, 0 // begin of the current field, and 1 if a quote is between the field and the delimiter
words:
	for at := 0; at < len(text); at += 8 {
		word := wordAt(text, at)
		found := zeros(word ^ delimiters)
		if holds(word^lineEnds)|holds(word^quotes) != 0 {
			found |= zeros(word^lineEnds) | zeros(word^quotes)
		} else if n := bits.OnesCount64(found); count < len(f.wanted) && count+n < f.wanted[count] {
			count += n
			continue
		}
		for ; found != 0; found &= found - 1 {
			i := at + bits.TrailingZeros64(found)>>3
			if text[i] == f.quote && f.quote != '\n' {
				if f.trims || i > 0 && text[i-1] != f.delimiter {
					return -1, 0
				}
				size := enclosed(text[i+1:], f.quote, f.delimiter)
				if size < 0 {
					return -1, 0
				}
				begin, closing = i+1, 1
				at = i + 2 + size - 8 // the next word begins after the closing quote
				continue words
			}
			if count < len(f.fields) {
				f.fields[count] = bound{begin, i - closing}
			}
			count++
			begin, closing = i+1, 0
			if text[i] == '\n' {
				return i + 1, count
			}
		}
	}
	return -1, 0
}

// enclosed returns the length of a field at the beginning of text, which ends in a quote before a delimiter or a line end, or
// a negative number for another field.
func enclosed(text []byte, quote, delimiter byte) int {
	size := bytes.IndexByte(text, quote)
	if size < 0 || size+1 == len(text) {
		return -1
	}
	switch text[size+1] {
	case delimiter, '\n':
		return size
	case '\r':
		if size+2 < len(text) && text[size+2] == '\n' {
			return size
		}
	}
	return -1
}
