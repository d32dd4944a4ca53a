package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	_ "unsafe" // for go:linkname

	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// codecs is the library's table of codecs, indexed by their codes in the format. The library gives a
// codec a buffer of the size in the header of the page. If a codec returns as many bytes in another
// buffer, the library drops them and reads whatever its own buffer contains. The codec for LZ4_RAW does
// so for pages that are compressed to more than a third of their size. The codecs in the table are therefore replaced
// by codecs that always return the given buffer.
//
//go:linkname codecs github.com/parquet-go/parquet-go.compressionCodecs
var codecs [format.Lz4Raw + 1]compress.Codec

func init() {
	codecs[format.Lz4Raw] = lz4Raw{codecs[format.Lz4Raw]}
	codecs[format.Lz4] = lz4Hadoop{codecs[format.Lz4Raw]}
	for code, codec := range codecs {
		if codec != nil && format.CompressionCodec(code) != format.Uncompressed {
			codecs[code] = inPlace{codec}
		}
	}
}

// inPlace decodes into the given buffer.
type inPlace struct{ compress.Codec }

// Decode implements compress.Codec.
func (c inPlace) Decode(page, src []byte) ([]byte, error) {
	if len(src) == 0 { // a page without values may be stored without any bytes
		return page[:0], nil
	}
	decoded, err := c.Codec.Decode(page, src)
	switch {
	case err != nil:
		return decoded, err
	case len(decoded) > len(page):
		return nil, fmt.Errorf("a page has more bytes than its header says, which are %d", len(page))
	case len(decoded) > 0 && &decoded[0] == &page[0]:
		return decoded, nil
	}
	return page[:copy(page, decoded)], nil
}

// lz4Raw decodes LZ4_RAW. The library's codec enlarges its buffer without end if the content is damaged.
type lz4Raw struct{ compress.Codec }

var errLZ4 = errors.New("a page is not LZ4, or has more bytes than its header says")

// Decode implements compress.Codec.
func (lz4Raw) Decode(page, src []byte) ([]byte, error) {
	n, err := lz4.UncompressBlock(src, page)
	if err != nil {
		return nil, errLZ4
	}
	return page[:n], nil
}

// lz4Hadoop decodes the deprecated codec LZ4. Its pages are divided into blocks like in Hadoop: each block
// begins with its size and its compressed size. Some writers have written a page as one block without sizes.
type lz4Hadoop struct{ compress.Codec }

// Decode implements compress.Codec.
func (c lz4Hadoop) Decode(page, src []byte) ([]byte, error) {
	at, rest := 0, src
	for len(rest) >= 8 {
		size, compressed := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if size > int64(len(page)-at) || compressed > int64(len(rest)-8) {
			break
		}
		n, err := lz4.UncompressBlock(rest[8:8+compressed], page[at:at+int(size)])
		if err != nil || n != int(size) {
			break
		}
		at, rest = at+n, rest[8+compressed:]
	}
	if len(rest) == 0 && at == len(page) {
		return page, nil
	}
	return c.Codec.Decode(page, src)
}
