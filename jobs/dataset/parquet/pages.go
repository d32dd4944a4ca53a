package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// pages gives the pages of a column chunk to the library, decompressed. The library would allocate as much
// memory as the headers claim, so pages checks each claim first. A dictionary is given to the library before
// the first page that uses it, because a dictionary that no page uses may be damaged.
type pages struct {
	column     *format.ColumnMetaData
	leaf       *leaf
	data       []byte // rest of the column chunk
	budget     *budget
	dictionary *page // dictionary that the library does not have yet
	given      bool  // true if the library has the dictionary

	parts  [][]byte // rest of the pages that the library reads next
	at     int64    // offset of parts in all that the library reads
	memory *memory
	err    error // error that ended the reading

	dictionaryCost, pageCost int64 // costs in the budget
}

// memory is the memory for decompressed pages of a File. The library copies a page, and the dictionary before the page, before it
// reads the next page of any column. So the columns and row groups of the File use the same memory in turns, and the memory is as
// large as the largest page and the largest dictionary that were read. Each of them is in the budget of its row group.
type memory struct{ page, dictionary []byte }

// page is a page of a column chunk.
type page struct {
	header format.PageHeader
	body   []byte
}

var (
	errPageHeader   = errors.New("a page has no valid header")
	errPageSize     = errors.New("a page is not as large as its header says")
	errChecksum     = errors.New("the checksum of a page is wrong")
	errNoDictionary = errors.New("a page uses a dictionary that the column does not have")
)

// open returns the library's reader of a column chunk with the given content.
func (p *pages) open(chunk *library.FileColumnChunk, m *format.ColumnMetaData) *library.FilePages {
	saved := *m
	defer func() { *m = saved }()
	m.DictionaryPageOffset, m.DataPageOffset, m.TotalCompressedSize = 0, 0, math.MaxInt64
	return chunk.PagesFrom(p)
}

// ReadAt implements io.ReaderAt for the library, which reads from the beginning to the end. It returns fewer
// bytes than requested at the end of a part of a page.
func (p *pages) ReadAt(b []byte, offset int64) (int, error) {
	if p.err == nil && offset != p.at {
		p.err = errNoDictionary // the library looks for a dictionary at the beginning
	}
	for p.err == nil {
		if len(p.parts) == 0 {
			p.err = p.next()
			continue
		}
		if len(p.parts[0]) == 0 {
			p.parts = p.parts[1:]
			continue
		}
		n := copy(b, p.parts[0])
		p.parts[0] = p.parts[0][n:]
		p.at += int64(n)
		return n, nil
	}
	return 0, p.err
}

// next prepares the next page with values, and its dictionary. It returns io.EOF after the last page.
func (p *pages) next() error {
	for {
		one, err := p.cut()
		if err != nil {
			return err
		}
		switch one.header.Type {
		case format.DictionaryPage:
			if !p.given && p.dictionary == nil {
				p.dictionary = &one
			}
		case format.DataPage, format.DataPageV2:
			return p.give(one)
		}
	}
}

// cut removes the next page from the data.
func (p *pages) cut() (one page, err error) {
	if len(p.data) == 0 {
		return one, io.EOF
	}
	n, err := structSize(p.data)
	if err != nil {
		return one, err
	}
	h := &one.header
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), p.data[:n], h); err != nil {
		return one, fmt.Errorf("%w: %w", errPageHeader, err)
	}
	rest := p.data[n:]
	if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > int64(len(rest)) || h.UncompressedPageSize < 0 {
		return one, errPageSize
	}
	one.body, p.data = rest[:h.CompressedPageSize], rest[h.CompressedPageSize:]
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(one.body) {
		return one, errChecksum
	}
	return one, nil
}

// give prepares a page with values.
func (p *pages) give(one page) error {
	var encoding format.Encoding
	values, levels := int32(0), int64(0) // levels is the number of bytes before the content that are not compressed
	compressed := true
	switch v1, v2 := one.header.DataPageHeader, one.header.DataPageHeaderV2; {
	case one.header.Type == format.DataPage && v1.Valid:
		encoding, values = v1.V.Encoding, v1.V.NumValues
	case one.header.Type == format.DataPageV2 && v2.Valid:
		encoding, values = v2.V.Encoding, v2.V.NumValues
		levels = int64(v2.V.RepetitionLevelsByteLength) + int64(v2.V.DefinitionLevelsByteLength)
		compressed = !v2.V.IsCompressed.Valid || v2.V.IsCompressed.V
		if v2.V.RepetitionLevelsByteLength < 0 || v2.V.DefinitionLevelsByteLength < 0 || v2.V.NumNulls < 0 || v2.V.NumNulls > values {
			return errPageHeader
		}
	default:
		return errPageHeader
	}
	if values < 0 || levels > int64(len(one.body)) || levels > int64(one.header.UncompressedPageSize) {
		return errPageHeader
	}
	p.parts = nil
	if encoding == codes || encoding == oldCodes {
		if err := p.giveDictionary(); err != nil {
			return err
		}
	}
	size := int64(one.header.UncompressedPageSize)
	if err := p.budget.replace(&p.pageCost, 2*size+bytesOfValue*int64(values)); err != nil {
		return err
	}
	content := one.body[levels:]
	if compressed {
		var err error
		if content, err = p.decompress(content, int(size-levels), &p.memory.page); err != nil {
			return err
		}
	}
	claims := claims{leaf: p.leaf, encoding: encoding, values: int(values), most: p.budget.limit - p.budget.used}
	if err := claims.check(one, one.body[:levels], content); err != nil {
		return err
	}
	return p.add(one.header, one.body[:levels], content)
}

// giveDictionary prepares the page of the dictionary, unless the library has it.
func (p *pages) giveDictionary() error {
	d := p.dictionary
	switch {
	case p.given:
		return nil
	case d == nil:
		return errNoDictionary
	case !d.header.DictionaryPageHeader.Valid || d.header.DictionaryPageHeader.V.NumValues < 0:
		return errPageHeader
	}
	size := int64(d.header.UncompressedPageSize)
	if err := p.budget.replace(&p.dictionaryCost, 2*size+bytesOfEntry*int64(d.header.DictionaryPageHeader.V.NumValues)); err != nil {
		return err
	}
	content, err := p.decompress(d.body, int(size), &p.memory.dictionary)
	if err != nil {
		return err
	}
	p.given, p.dictionary = true, nil
	return p.add(d.header, nil, content)
}

// add adds a page that is not compressed.
func (p *pages) add(h format.PageHeader, levels, content []byte) error {
	size := int32(len(levels) + len(content))
	plain := format.PageHeader{Type: h.Type, UncompressedPageSize: size, CompressedPageSize: size, DictionaryPageHeader: h.DictionaryPageHeader}
	plain.DataPageHeader, plain.DataPageHeaderV2 = h.DataPageHeader, h.DataPageHeaderV2
	plain.DataPageHeader.V.Statistics, plain.DataPageHeaderV2.V.Statistics = format.Statistics{}, format.Statistics{}
	header, err := thrift.Marshal(new(thrift.CompactProtocol), plain)
	p.parts = append(p.parts, header, levels, content)
	return err
}

// decompress returns the content of a page, which must have the given size, in the memory of buffer. A page without values may
// be stored without any bytes.
func (p *pages) decompress(body []byte, size int, buffer *[]byte) ([]byte, error) {
	if p.column.Codec == format.Uncompressed || len(body) == 0 {
		return body, nil
	}
	if cap(*buffer) < size {
		*buffer = nil // before the larger one is allocated
		*buffer = make([]byte, size)
	}
	content, err := decoders[p.column.Codec].Decode((*buffer)[:size], body)
	if err != nil {
		return nil, err
	}
	if len(content) != size {
		return nil, errPageSize
	}
	return content, nil
}
