package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// part is a page of an object, as its header describes it and as it is stored.
type part struct {
	header format.PageHeader
	body   []byte
}

func some[T any](v T) thrift.Null[T] { return thrift.Null[T]{V: v, Valid: true} }

// dataPage returns a page with values.
func dataPage(values int32, encoding format.Encoding, body []byte) part {
	h := format.DataPageHeader{NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
	return part{format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(body)), DataPageHeader: some(h)}, body}
}

func dictionaryPage(values int32, body []byte) part {
	h := format.DictionaryPageHeader{NumValues: values, Encoding: format.Plain}
	return part{format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(len(body)), DictionaryPageHeader: some(h)}, body}
}

// object returns an object with one column of the given pages.
func object(t *testing.T, typ format.Type, repetition format.FieldRepetitionType, codec format.CompressionCodec, rows int64, parts ...part) []byte {
	t.Helper()
	protocol := new(thrift.CompactProtocol)
	content := []byte("PAR1")
	for _, p := range parts {
		p.header.CompressedPageSize = int32(len(p.body))
		header, err := thrift.Marshal(protocol, p.header)
		if err != nil {
			t.Fatal(err)
		}
		content = append(append(content, header...), p.body...)
	}
	column := footerColumn{Type: typ, Codec: codec, PathInSchema: []string{"a"}, NumValues: rows, TotalCompressedSize: int64(len(content)) - 4, DataPageOffset: 4}
	f := footer{Version: 1, NumRows: rows, Schema: []format.SchemaElement{
		{Name: "rows", NumChildren: some(int32(1))},
		{Name: "a", Type: some(typ), RepetitionType: some(repetition)},
	}, RowGroups: []footerGroup{{NumRows: rows, Columns: []footerChunk{{MetaData: column}}}}}
	return appendFooter(t, content, f)
}

func appendFooter(t *testing.T, content []byte, f any) []byte {
	t.Helper()
	encoded, err := thrift.Marshal(new(thrift.CompactProtocol), f)
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, encoded...)
	return append(binary.LittleEndian.AppendUint32(content, uint32(len(encoded))), "PAR1"...)
}

// prefix returns bytes after their length.
func prefix(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// run returns a run of the encoding RLE with a value of one byte.
func run(count uint64, value byte) []byte { return append(binary.AppendUvarint(nil, count<<1), value) }

// deltas returns the header of the encoding DELTA_BINARY_PACKED and blocks of equal numbers.
func deltas(count uint64, first int64, blocks int) []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil, 128), 4), count)
	b = binary.AppendVarint(b, first)
	for range blocks {
		b = append(b, 0, 0, 0, 0, 0)
	}
	return b
}

// TestClaims reads small objects that claim much: each must be refused without much memory.
func TestClaims(t *testing.T) {
	const required, optional = format.Required, format.Optional
	large := func(p part, size int32) part {
		p.header.UncompressedPageSize = size
		return p
	}
	const most = math.MaxInt32
	limit := "which is the limit of 536870912 and 16 times the stored size"
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"size of a page":       {object(t, format.Int64, required, format.Snappy, 1, large(dataPage(1, format.Plain, []byte{1, 2}), most)), limit},
		"size of a dictionary": {object(t, format.ByteArray, required, format.Snappy, 1, large(dictionaryPage(1, []byte{1}), most), dataPage(1, format.RLEDictionary, []byte{1, 2, 0})), limit},
		"values of a dictionary": {
			object(t, format.ByteArray, required, format.Uncompressed, 1, dictionaryPage(most, []byte{0, 0, 0, 0}), dataPage(1, format.RLEDictionary, []byte{1, 2, 0})), limit,
		},
		"nulls":                   {object(t, format.Int32, optional, format.Uncompressed, most, dataPage(most, format.Plain, prefix(run(most, 0)))), limit},
		"runs of levels":          {object(t, format.Int32, optional, format.Uncompressed, 1, dataPage(1, format.Plain, prefix(bytes.Repeat(run(1<<24, 0), 1000)))), errValues.Error()},
		"runs of codes":           {object(t, format.ByteArray, required, format.Uncompressed, 1, dictionaryPage(1, []byte{0, 0, 0, 0}), dataPage(1, format.RLEDictionary, append([]byte{1}, bytes.Repeat(run(1<<24, 0), 1000)...))), errValues.Error()},
		"runs of booleans":        {object(t, format.Boolean, required, format.Uncompressed, 1, dataPage(1, format.RLE, prefix(bytes.Repeat(run(1<<24, 0), 1000)))), errValues.Error()},
		"DELTA_BINARY_PACKED":     {object(t, format.Int64, required, format.Uncompressed, 1, dataPage(1, format.DeltaBinaryPacked, deltas(most, 0, 1))), errValues.Error()},
		"DELTA_LENGTH_BYTE_ARRAY": {object(t, format.ByteArray, required, format.Uncompressed, 1, dataPage(1, format.DeltaLengthByteArray, deltas(most, 0, 1))), errValues.Error()},
		"texts of DELTA_BYTE_ARRAY": {
			object(t, format.ByteArray, required, format.Uncompressed, 128000, dataPage(128000, format.DeltaByteArray, append(deltas(128000, 1<<20, 1000), deltas(128000, 0, 1000)...))), "a page has texts of 134217",
		},
		"lengths of DELTA_BYTE_ARRAY": {object(t, format.ByteArray, required, format.Uncompressed, 1, dataPage(1, format.DeltaByteArray, append(deltas(1, 0, 0), deltas(most, 0, 1)...))), errValues.Error()},
		"a text in a header":          {object(t, format.Int32, required, format.Uncompressed, 1, part{body: nil}, part{body: []byte{0x58, 0xff, 0xff, 0xff, 0xff, 7}}), ""},
	} {
		if err := reading(t, test.content); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// reading reads all values of an object, and returns the error. It fails the test if reading needs much memory.
func reading(t *testing.T, content []byte) (err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("got %d bytes of memory for an object of %d bytes, with the error %v", used, len(content), err)
		}
	}()
	r := bytes.NewReader(content)
	f, err := Open(r, r.Size())
	if err != nil {
		return err
	}
	columns := make([]int, len(f.Columns()))
	for i := range columns {
		columns[i] = i
	}
	for group := range f.Groups() {
		rows, err := openRows(f, group, columns, content)
		for more := true; more && err == nil; {
			more, err = rows.Next()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestFooterClaims reads objects whose metadata would need much more memory than its size.
func TestFooterClaims(t *testing.T) {
	footer := func(metadata []byte) []byte {
		content := append([]byte("PAR1"), metadata...)
		return append(binary.LittleEndian.AppendUint32(content, uint32(len(metadata))), "PAR1"...)
	}
	list := func(size uint64, elements []byte) []byte { // field 2, a list of structures
		return append(binary.AppendUvarint([]byte{0x29, 0xfc}, size), elements...)
	}
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"a list that is longer than the footer": {footer(list(math.MaxInt32, nil)), "unexpected EOF"},
		"empty structures":                      {footer(append(list(1<<20, make([]byte, 1<<20)), 0)), "more than 65536 parts"},
		"structures in structures":              {footer(bytes.Repeat([]byte{0x1c}, 1<<20)), "nested too deeply"},
		"a text that is longer than the footer": {footer([]byte{0x18, 0xff, 0xff, 0xff, 0xff, 7}), "unexpected EOF"},
		"a footer larger than the object":       {append([]byte("PAR1"), "\xff\xff\xff\xffPAR1"...), "size of the footer"},
	} {
		if err := reading(t, test.content); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	r := sized{maxFooter + 100}
	if _, err := Open(r, r.size); err == nil || !strings.Contains(err.Error(), "more than the limit of 67108864") {
		t.Errorf("got %v, want the limit of footers", err)
	}
}

// sized is an object of zeros whose footer is larger than the limit.
type sized struct{ size int64 }

func (s sized) ReadAt(p []byte, offset int64) (int, error) {
	var tail [tailSize]byte
	copy(tail[4:], "PAR1")
	binary.LittleEndian.PutUint32(tail[:], maxFooter+1)
	clear(p)
	return copy(p, tail[max(0, offset-(s.size-tailSize)):]), nil
}

// TestOverlap checks that the columns of an object do not claim more bytes than the object has.
func TestOverlap(t *testing.T) {
	content := object(t, format.Int32, format.Required, format.Uncompressed, 1000, dataPage(1000, format.Plain, make([]byte, 4000)))
	content = rewrite(t, content, func(f *footer) any {
		for _, name := range []string{"b", "c", "d"} {
			f.Schema = append(f.Schema, f.Schema[1])
			f.Schema[len(f.Schema)-1].Name = name
			f.RowGroups[0].Columns = append(f.RowGroups[0].Columns, f.RowGroups[0].Columns[0])
		}
		f.Schema[0].NumChildren = some(int32(4))
		return f
	})
	if err := reading(t, content); !errors.Is(err, errOverlap) {
		t.Errorf("got %v, want %v", err, errOverlap)
	}
}

// TestUnusedDictionary reads a column with a dictionary that no page uses, and that cannot be decoded.
func TestUnusedDictionary(t *testing.T) {
	for name, dictionary := range map[string]part{
		"text longer than the page": dictionaryPage(3, []byte{9, 9, 9, 9}),
		"no value count":            {header: format.PageHeader{Type: format.DictionaryPage}},
		"large":                     dictionaryPage(math.MaxInt32, nil),
	} {
		content := object(t, format.ByteArray, format.Required, format.Uncompressed, 1, dictionary, dataPage(1, format.Plain, []byte{1, 0, 0, 0, 'x'}))
		if got := readAll(t, content); len(got) != 1 || got[0] != "x|" {
			t.Errorf("%s: got %q, want the value", name, got)
		}
	}
	content := object(t, format.ByteArray, format.Required, format.Uncompressed, 1, dataPage(1, format.RLEDictionary, []byte{1, 2, 0}))
	if err := reading(t, content); !errors.Is(err, errNoDictionary) {
		t.Errorf("got %v, want %v", err, errNoDictionary)
	}
}

// TestFewerTexts reads pages that have fewer texts than their headers say. The library must not print a
// warning, which it does if it gets such texts.
func TestFewerTexts(t *testing.T) {
	for encoding, body := range map[format.Encoding][]byte{
		format.Plain:                {1, 0, 0, 0, 'x'},
		format.DeltaLengthByteArray: append(deltas(1, 1, 0), 'x'),
		format.DeltaByteArray:       append(append(deltas(1, 0, 0), deltas(1, 1, 0)...), 'x'),
	} {
		if err := reading(t, object(t, format.ByteArray, format.Required, format.Uncompressed, 5, dataPage(5, encoding, body))); !errors.Is(err, errFewer) {
			t.Errorf("%v: got %v, want %v", encoding, err, errFewer)
		}
		if got := readAll(t, object(t, format.ByteArray, format.Required, format.Uncompressed, 1, dataPage(1, encoding, body))); len(got) != 1 || got[0] != "x|" {
			t.Errorf("%v: got %q, want the text", encoding, got)
		}
	}
}

// TestMixedPages reads a column whose pages begin with a dictionary and go on without, beside a column
// whose pages end at other rows.
func TestMixedPages(t *testing.T) {
	codes := func(n int) []byte { return append([]byte{1}, run(uint64(n), 1)...) }
	texts := func(n int) []byte { return bytes.Repeat([]byte{1, 0, 0, 0, 'z'}, n) }
	dictionary := dictionaryPage(2, []byte{1, 0, 0, 0, 'x', 1, 0, 0, 0, 'y'})
	parts := []part{dictionary}
	want := ""
	for i := range 300 {
		n := i%17 + 1
		if i%3 == 0 {
			parts, want = append(parts, dataPage(int32(n), format.Plain, texts(n))), want+strings.Repeat("z", n)
		} else {
			parts, want = append(parts, dataPage(int32(n), format.RLEDictionary, codes(n))), want+strings.Repeat("y", n)
		}
	}
	content := object(t, format.ByteArray, format.Required, format.Uncompressed, int64(len(want)), parts...)
	if got := strings.ReplaceAll(strings.Join(readAll(t, content), ""), "|", ""); got != want {
		t.Errorf("got %d values, want %d", len(got), len(want))
	}
}

// TestCodecsOfGroups reads an object whose row groups have different codecs.
func TestCodecsOfGroups(t *testing.T) {
	text := bytes.Repeat([]byte{2, 0, 0, 0, 'o', 'k'}, 100)
	compressed, err := library.Snappy.Encode(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	first, second := dataPage(100, format.Plain, text), dataPage(100, format.Plain, compressed)
	second.header.UncompressedPageSize = int32(len(text))
	content := object(t, format.ByteArray, format.Required, format.Uncompressed, 100, first, second)
	content = rewrite(t, content, func(f *footer) any {
		header, err := thrift.Marshal(new(thrift.CompactProtocol), withSize(first))
		if err != nil {
			t.Fatal(err)
		}
		begin := int64(len(header) + len(first.body))
		g := f.RowGroups[0]
		other := g
		other.Columns = []footerChunk{g.Columns[0]}
		m := &other.Columns[0].MetaData
		m.Codec, m.DataPageOffset, m.TotalCompressedSize = format.Snappy, 4+begin, m.TotalCompressedSize-begin
		f.RowGroups[0].Columns[0].MetaData.TotalCompressedSize = begin
		f.RowGroups, f.NumRows = append(f.RowGroups, other), 200
		return f
	})
	if got := readAll(t, content); len(got) != 200 || got[0] != "ok|" || got[199] != "ok|" {
		t.Errorf("got %d rows, want 200", len(got))
	}
}

// withSize returns the header of a page with the size of the page.
func withSize(p part) format.PageHeader {
	p.header.CompressedPageSize = int32(len(p.body))
	return p.header
}
