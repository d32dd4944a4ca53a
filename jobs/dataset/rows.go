package dataset

import (
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

// rows folds the complete records at the beginning of text, which must contain no quotes and must
// be UTF-8. It is a fast version of the method records for text without quotes. rows finds
// delimiters and line ends eight bytes at a time, and calls the method record only for unusual
// rows.
func (s *scanner[A]) rows(text []byte, begin int64) (used int) {
	r, fields := s.rec, s.rec.fields
	r.object = s.object.Name
	delimiter, delimiters, lineEnds := s.layout.delimiter, repeated(s.layout.delimiter), repeated('\n')
	comment, trims := s.layout.comment, s.layout.spaces != ""
	row, field, n := 0, 0, 0 // offsets of the current row and field, and index of the field
	for at := 0; at < len(text); at += 8 {
		var word uint64
		if at+8 <= len(text) {
			word = binary.LittleEndian.Uint64(text[at:])
		} else {
			var last [8]byte // last bytes of the text, followed by zeros, which are never delimiters or line ends
			copy(last[:], text[at:])
			word = binary.LittleEndian.Uint64(last[:])
		}
		for found := zeros(word^delimiters) | zeros(word^lineEnds); found != 0; found &= found - 1 {
			i := at + bits.TrailingZeros64(found)>>3
			if n < len(fields) {
				fields[n] = bound{field - row, i - row}
			}
			field = i + 1
			n++
			if text[i] == delimiter {
				continue
			}
			end := i
			if end > row && text[end-1] == '\r' {
				end--
				fields[min(n, len(fields))-1].hi--
			}
			switch offset := begin + int64(row); {
			case n != len(fields) || offset == 0 || end == row || s.leads || text[row] == comment:
				s.record(text[row:i+1], offset, false)
			default:
				r.text, r.data, r.offset = text[row:end], text[row:end], offset
				if trims {
					r.trimFields()
				}
				err := s.fold(&s.acc, r)
				s.count(err == nil, err, r.object, offset)
			}
			if row, n = i+1, 0; s.out.Fault != nil {
				return row
			}
		}
	}
	return row
}
