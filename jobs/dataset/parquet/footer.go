package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// footer contains the part of an object's metadata that readers of rows need. The library refuses metadata
// that other readers accept: keys without values, groups of columns that have a type, and more column chunks
// than columns. A footer leaves such things out.
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

// readBuffer is the size in bytes of the library's buffer of each column. The pages are in memory already.
const readBuffer = 512

// tailSize is the size of the end of an object: the size of the footer and the magic bytes.
const tailSize = 8

var (
	errFooter = errors.New("the size of the footer is wrong")
	errMagic  = errors.New("the object does not end in PAR1")
)

// checkFooter returns an error if the metadata would need much more memory than its size.
func checkFooter(r io.ReaderAt, size int64) error {
	content, _, err := readFooter(r, size)
	if err != nil {
		return err
	}
	_, err = structSize(content)
	return err
}

// readFooter returns the metadata of an object, and the offset of the metadata.
func readFooter(r io.ReaderAt, size int64) (content []byte, begin int64, err error) {
	var tail [tailSize]byte
	if _, err := r.ReadAt(tail[:], size-tailSize); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if magic := string(tail[4:]); magic != "PAR1" {
		return nil, 0, errMagic
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case length > size-tailSize:
		return nil, 0, errFooter
	case length > maxFooter:
		return nil, 0, &UnreadableError{fmt.Sprintf("the metadata has %d bytes, more than the limit of %d: write the object with fewer row groups or columns", length, maxFooter)}
	}
	content, begin = make([]byte, length), size-tailSize-length
	_, err = r.ReadAt(content, begin)
	return content, begin, err
}

// openStrictly reads the metadata with the library's function.
func openStrictly(r io.ReaderAt, size int64) (*library.File, error) {
	return library.OpenFile(r, size, library.SkipMagicBytes(true), library.SkipPageIndex(true), library.SkipBloomFilters(true), library.ReadBufferSize(readBuffer))
}

// openLeniently reads metadata that the library refuses: the library reads a footer in place of that of the
// object.
func openLeniently(r io.ReaderAt, size int64) (file *library.File, err error) {
	defer recoverTo(&err)
	content, begin, err := readFooter(r, size)
	if err != nil {
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
	for i := range f.RowGroups {
		f.RowGroups[i].dropExtra(f.Schema)
	}
	if content, err = thrift.Marshal(protocol, f); err != nil {
		return nil, err
	}
	content = binary.LittleEndian.AppendUint32(content, uint32(len(content)))
	content = append(content, "PAR1"...)
	return openStrictly(replaced{r, begin, content}, begin+int64(len(content)))
}

// dropExtra removes the column chunks after those of the columns in the schema, if the chunks have the names
// of the columns.
func (g *footerGroup) dropExtra(schema []format.SchemaElement) {
	leaves := names(schema)
	if len(leaves) >= len(g.Columns) {
		return
	}
	for i, name := range leaves {
		if path := g.Columns[i].MetaData.PathInSchema; len(path) == 0 || path[len(path)-1] != name {
			return
		}
	}
	g.Columns = g.Columns[:len(leaves)]
}

// names returns the last parts of the names of the columns in a schema.
func names(schema []format.SchemaElement) (leaves []string) {
	for left := int64(1); left > 0 && len(schema) > 0; left-- {
		if schema[0].Type.Valid {
			leaves = append(leaves, schema[0].Name)
		}
		left += int64(schema[0].NumChildren.V)
		schema = schema[1:]
	}
	return leaves
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
