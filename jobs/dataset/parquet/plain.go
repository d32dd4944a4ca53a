package parquet

import (
	"encoding/binary"
	"errors"
	_ "unsafe" // for go:linkname

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// encodings is the library's table of encodings, indexed by their codes in the format. The library decodes
// a PLAIN page of texts to its end. Some writers leave bytes after the last value, which other readers
// ignore. The encoding PLAIN is therefore replaced by an encoding that stops after the last value. If a page has
// fewer texts than its header says, the library prints a warning on the terminal, so all encodings of texts
// are replaced by encodings that count them.
//
//go:linkname encodings github.com/parquet-go/parquet-go.encodings
var encodings [format.ByteStreamSplit + 1]encoding.Encoding

func init() {
	encodings[format.Plain] = plain{encodings[format.Plain]}
	for _, code := range []format.Encoding{format.Plain, format.DeltaLengthByteArray, format.DeltaByteArray} {
		encodings[code] = counted{encodings[code]}
	}
}

// counted is an encoding whose pages must have as many texts as their header says.
type counted struct{ inner }

var errFewer = errors.New("a page has fewer values than its header says")

// DecodeByteArray implements encoding.Encoding. The parameters are like those of the method of plain.
func (c counted) DecodeByteArray(dst, src []byte, offsets []uint32) ([]byte, []uint32, error) {
	want := len(offsets)
	dst, offsets, err := c.inner.DecodeByteArray(dst, src, offsets)
	if err == nil && len(offsets) < want {
		err = errFewer
	}
	return dst, offsets, err
}

// plain is the encoding PLAIN.
type plain struct{ inner }

// inner is an interface whose name differs from the names of its methods, so that it can be embedded.
type inner = encoding.Encoding

var errPlain = errors.New("a value is longer than its page")

// DecodeByteArray implements encoding.Encoding. For a page of values, the length of offsets is the number of
// values and 1. For a dictionary, offsets is empty.
func (plain) DecodeByteArray(dst, src []byte, offsets []uint32) ([]byte, []uint32, error) {
	left := len(offsets) - 1
	dst, offsets = dst[:0], offsets[:0]
	for ; left != 0 && len(src) > 0; left-- {
		if len(src) < 4 || uint64(binary.LittleEndian.Uint32(src)) > uint64(len(src)-4) {
			return dst, offsets, errPlain
		}
		end := 4 + int(binary.LittleEndian.Uint32(src))
		offsets = append(offsets, uint32(len(dst)))
		dst = append(dst, src[4:end]...)
		src = src[end:]
	}
	return dst, append(offsets, uint32(len(dst))), nil
}
