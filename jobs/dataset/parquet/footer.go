package parquet

import (
	"encoding/binary"
	"errors"
	"io"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// footer contains the part of an object's metadata that readers of rows need. The library refuses metadata
// that other readers accept: keys without values, and groups of columns that have a type. A footer leaves
// such things out.
type footer struct {
	Version   int32                              `thrift:"1,required"`
	Schema    thrift.Slice[format.SchemaElement] `thrift:"2,required"`
	NumRows   int64                              `thrift:"3,required"`
	RowGroups thrift.Slice[footerGroup]          `thrift:"4,required"`
}

type footerGroup struct {
	Columns       thrift.Slice[footerChunk] `thrift:"1,required"`
	TotalByteSize int64                     `thrift:"2,required"`
	NumRows       int64                     `thrift:"3,required"`
}

type footerChunk struct {
	FilePath       string                      `thrift:"1,optional"`
	FileOffset     int64                       `thrift:"2,required"`
	MetaData       footerColumn                `thrift:"3,optional"`
	CryptoMetadata format.ColumnCryptoMetaData `thrift:"8,optional"`
}

type footerColumn struct {
	Type                  format.Type                   `thrift:"1,required"`
	Encoding              thrift.Slice[format.Encoding] `thrift:"2,required"`
	PathInSchema          thrift.Slice[string]          `thrift:"3,required"`
	Codec                 format.CompressionCodec       `thrift:"4,required"`
	NumValues             int64                         `thrift:"5,required"`
	TotalUncompressedSize int64                         `thrift:"6,required"`
	TotalCompressedSize   int64                         `thrift:"7,required"`
	DataPageOffset        int64                         `thrift:"9,required"`
	DictionaryPageOffset  int64                         `thrift:"11,optional"`
}

// tailSize is the size of the end of an object: the size of the footer and the magic bytes.
const tailSize = 8

var errFooter = errors.New("the size of the footer is wrong")

// openStrictly reads the metadata with the library's function.
func openStrictly(r io.ReaderAt, size int64) (*library.File, error) {
	return library.OpenFile(r, size, library.SkipMagicBytes(true), library.SkipPageIndex(true), library.SkipBloomFilters(true))
}

// openLeniently reads metadata that the library refuses: the library reads a footer in place of that of the
// object.
func openLeniently(r io.ReaderAt, size int64) (file *library.File, err error) {
	defer recoverTo(&err)
	var tail [tailSize]byte
	if _, err := r.ReadAt(tail[:], size-tailSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	if length > size-tailSize {
		return nil, errFooter
	}
	content := make([]byte, length)
	begin := size - tailSize - length
	if _, err := r.ReadAt(content, begin); err != nil {
		return nil, err
	}
	var f footer
	protocol := new(thrift.CompactProtocol)
	if err := thrift.Unmarshal(protocol, content, &f); err != nil {
		return nil, err
	}
	for i := range f.Schema {
		if e := &f.Schema[i]; e.NumChildren.V > 0 {
			e.Type = thrift.Null[format.Type]{}
		}
	}
	if content, err = thrift.Marshal(protocol, f); err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint32(tail[:], uint32(len(content)))
	content = append(content, tail[:]...)
	return openStrictly(replaced{r, begin, content}, begin+int64(len(content)))
}

// replaced reads an object whose end is replaced.
type replaced struct {
	io.ReaderAt
	from int64
	end  []byte // bytes from the offset from
}

// ReadAt implements io.ReaderAt.
func (r replaced) ReadAt(p []byte, offset int64) (int, error) {
	if offset < r.from {
		return r.ReaderAt.ReadAt(p, offset)
	}
	n := copy(p, r.end[min(offset-r.from, int64(len(r.end))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
