package parquet

import (
	"encoding/binary"
	"errors"
	_ "unsafe" // for go:linkname

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// codecs is the library's table of codecs, indexed by their codes in the format. Package parquet gives the
// library pages that are not compressed, so init moves the codecs to decoders.
//
//go:linkname codecs github.com/parquet-go/parquet-go.compressionCodecs
var codecs [format.Lz4Raw + 1]compress.Codec

// decoders are the codecs of pages.
var decoders [format.Lz4Raw + 1]compress.Codec

func init() {
	decoders = codecs
	decoders[format.Lz4Raw] = lz4Raw{codecs[format.Lz4Raw]}
	decoders[format.Lz4] = lz4Hadoop{decoders[format.Lz4Raw]}
	for code := range codecs {
		codecs[code] = &library.Uncompressed
	}
}

// known reports whether a codec can be decoded.
func known(codec format.CompressionCodec) bool {
	return codec >= 0 && int(codec) < len(decoders) && decoders[codec] != nil
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
