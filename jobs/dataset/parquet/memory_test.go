package parquet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
)

// groupRows are the numbers of rows of the row groups of reusedObject.
var groupRows = []int{70, 400, 200, 300}

// encodedLeaves are the columns of reusedObject by their names: each type in each of its encodings.
func encodedLeaves() map[string]library.Node {
	plain, codes, delta, split := encoding.Encoding(&library.Plain), encoding.Encoding(&library.RLEDictionary), encoding.Encoding(&library.DeltaBinaryPacked), encoding.Encoding(&library.ByteStreamSplit)
	leaves := map[string]library.Node{}
	for _, list := range []struct {
		node      library.Node
		encodings []encoding.Encoding
	}{
		{library.Leaf(library.BooleanType), []encoding.Encoding{plain, &library.RLE}},
		{library.Leaf(library.Int32Type), []encoding.Encoding{plain, codes, delta, split}},
		{library.Leaf(library.Int64Type), []encoding.Encoding{plain, codes, delta, split}},
		{library.Leaf(library.Int96Type), []encoding.Encoding{plain, codes}},
		{library.Leaf(library.FloatType), []encoding.Encoding{plain, codes, split}},
		{library.Leaf(library.DoubleType), []encoding.Encoding{plain, codes, split}},
		{library.String(), []encoding.Encoding{plain, codes, &library.DeltaLengthByteArray, &library.DeltaByteArray}},
		{library.Leaf(library.FixedLenByteArrayType(16)), []encoding.Encoding{plain, codes, &library.DeltaByteArray, split}},
	} {
		for _, e := range list.encodings {
			node := library.Encoded(list.node, e)
			name := fmt.Sprint(list.node.Type().Kind(), " ", e)
			leaves[name], leaves[name+" optional"], leaves[name+" list"] = node, library.Optional(node), library.Repeated(node)
		}
	}
	return leaves
}

// reusedValue returns the value of a row in a column, and its text in a list. Each row group has other values. Texts have up to 300
// bytes more in one row group than in another one.
func reusedValue(kind library.Kind, group, row int) (v library.Value, text string) {
	n := group*1000 + row%(7+30*group)
	switch kind {
	case library.Boolean:
		return library.BooleanValue((n+group)%3 == 0), fmt.Sprint((n+group)%3 == 0)
	case library.Int32:
		return library.Int32Value(int32(n)), fmt.Sprint(n)
	case library.Int64:
		return library.Int64Value(int64(n) << 20), fmt.Sprint(n << 20)
	case library.Int96:
		const epoch = 2440588 // the Julian day of 1 January 1970
		return library.Int96Value(deprecated.Int96{0, 0, uint32(epoch + n%28)}), fmt.Sprintf(`"1970-01-%02dT00:00:00Z"`, 1+n%28)
	case library.Float:
		return library.FloatValue(float32(n) + 0.5), fmt.Sprintf("%d.5", n)
	case library.Double:
		return library.DoubleValue(float64(n) + 0.5), fmt.Sprintf("%d.5", n)
	case library.ByteArray:
		text = fmt.Sprint("text ", n, strings.Repeat("x", group%2*(n%300)))
		return library.ByteArrayValue([]byte(text)), `"` + text + `"`
	}
	b := fmt.Appendf(nil, "%016d", n)
	return library.FixedLenByteArrayValue(b), `"` + hex.EncodeToString(b) + `"`
}

// reusedCell returns the values of a row in a column, which may be a list or optional, and their text.
func reusedCell(path string, kind library.Kind, column, group, row int) (values []library.Value, text string) {
	v, text := reusedValue(kind, group, row)
	switch {
	case !strings.HasSuffix(path, " list"):
		if text = strings.Trim(text, `"`); !strings.HasSuffix(path, " optional") {
			return []library.Value{v.Level(0, 0, column)}, text
		}
		if row%5 == 0 {
			return []library.Value{library.NullValue().Level(0, 0, column)}, "-"
		}
		return []library.Value{v.Level(0, 1, column)}, text
	case row%3 == 0:
		return []library.Value{library.NullValue().Level(0, 0, column)}, "[]"
	case row%3 == 1:
		return []library.Value{v.Level(0, 1, column)}, "[" + text + "]"
	}
	return []library.Value{v.Level(0, 1, column), v.Level(1, 1, column)}, "[" + text + "," + text + "]"
}

// reusedObject returns an object with the columns of encodedLeaves, and the texts of each row of each row group.
func reusedObject(t *testing.T, options ...library.WriterOption) (content []byte, want [][][]string) {
	t.Helper()
	schema := library.NewSchema("rows", library.Group(encodedLeaves()))
	var out bytes.Buffer
	w := library.NewWriter(&out, append(options, schema, library.PageBufferSize(1000))...)
	for group, rows := range groupRows {
		want = append(want, nil)
		for n := range rows {
			var row library.Row
			var texts []string
			for i, path := range schema.Columns() {
				leaf, _ := schema.Lookup(path...)
				values, text := reusedCell(path[0], leaf.Node.Type().Kind(), i, group, n)
				row, texts = append(row, values...), append(texts, text)
			}
			if _, err := w.WriteRows([]library.Row{row}); err != nil {
				t.Fatal(err)
			}
			want[group] = append(want[group], texts)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), want
}

// groupReader reads a row group, whose dictionaries it keeps.
type groupReader struct {
	rows         *Rows
	want         [][]string
	at           int
	chunks       [][]byte
	dictionaries map[*Dictionary][]string // texts of the dictionaries when they were new
}

func overwrite(b []byte) {
	for i := range b[:cap(b)] {
		b[:cap(b)][i] = 0xa5
	}
}

// read reads the rows up to a row. It overwrites the memory for pages after each row, and that of the column chunks after the last one.
func (r *groupReader) read(t *testing.T, f *File, to int) {
	t.Helper()
	for ; r.at < to; r.at++ {
		if ok, err := r.rows.Next(); !ok || err != nil {
			t.Fatalf("row %d: %v, %v", r.at, ok, err)
		}
		overwrite(f.memory.page)
		overwrite(f.memory.dictionary)
		for i, want := range r.want[r.at] {
			field, _ := r.rows.Field(i, nil)
			if field == nil {
				field = []byte("-")
			}
			if string(field) != want {
				t.Fatalf("row %d, column %s: got %q, want %q", r.at, f.Columns()[i], field, want)
			}
			var n exact.Number
			if r.rows.Number(i, &n) && n.String() != want {
				t.Fatalf("row %d, column %s: got the number %v, want %s", r.at, f.Columns()[i], n, want)
			}
			if _, d := r.rows.Codes(i); d != nil && r.dictionaries[d] == nil {
				r.dictionaries[d] = textsOf(d)
			}
		}
	}
	if to == len(r.want) {
		if ok, err := r.rows.Next(); ok || err != nil {
			t.Fatalf("after the last row: %v, %v", ok, err)
		}
		for _, chunk := range r.chunks {
			overwrite(chunk)
		}
	}
}

// textsOf returns the values of a dictionary, and their numbers.
func textsOf(d *Dictionary) (texts []string) {
	for code := range int32(d.Len()) {
		var n exact.Number
		ok := d.number(code, &n)
		texts = append(texts, fmt.Sprint(string(d.Text(code)), ok, n))
	}
	return texts
}

// TestReusedMemory reads row groups in turns, so that one of them begins while others are read. Each of them has other sizes of
// pages and other dictionaries. The memory of pages and column chunks is overwritten when the next page or row group may use it.
func TestReusedMemory(t *testing.T) {
	for name, options := range map[string][]library.WriterOption{
		"uncompressed":       {library.Compression(&library.Uncompressed)},
		"snappy":             {library.Compression(&library.Snappy)},
		"zstd":               {library.Compression(&library.Zstd)},
		"version 1":          {library.Compression(&library.Snappy), library.DataPageVersion(1)},
		"large dictionaries": {library.Compression(&library.Snappy), library.DictionaryMaxBytes(500)},
	} {
		t.Run(name, func(t *testing.T) {
			content, want := reusedObject(t, options...)
			f, err := Open(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(err)
			}
			columns := make([]int, len(f.Columns()))
			for i := range columns {
				columns[i] = i
			}
			var readers []*groupReader
			for group := range groupRows {
				r := &groupReader{want: want[group], dictionaries: map[*Dictionary][]string{}}
				ranges, err := f.Chunks(group, columns)
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range ranges {
					r.chunks = append(r.chunks, bytes.Clone(content[at.From:at.To]))
				}
				if r.rows, err = f.Rows(group, columns, r.chunks); err != nil {
					t.Fatal(err)
				}
				readers = append(readers, r)
			}
			for _, step := range []struct{ group, to int }{{0, 65}, {1, 400}, {2, 100}, {0, 70}, {3, 300}, {2, 200}} {
				readers[step.group].read(t, f, step.to)
			}
			for group, r := range readers {
				if len(r.dictionaries) == 0 {
					t.Errorf("row group %d: got no dictionaries", group)
				}
				for d, texts := range r.dictionaries {
					if got := textsOf(d); !slices.Equal(got, texts) {
						t.Errorf("row group %d, dictionary of %s: got %q, want %q", group, d.leaf.name, got, texts)
					}
				}
			}
		})
	}
}

// TestMemoryOfPages reads a column of long texts beside fifty columns of small numbers. The numbers need no memory of the size of
// the texts.
func TestMemoryOfPages(t *testing.T) {
	const narrow, groups, rows = 50, 3, 10
	group := library.Group{"text": library.String()}
	for i := range narrow {
		group[fmt.Sprintf("number %02d", i)] = library.Encoded(library.Leaf(library.Int64Type), &library.RLEDictionary)
	}
	var out bytes.Buffer
	w := library.NewWriter(&out, library.NewSchema("rows", group), library.Compression(&library.Snappy))
	text := strings.Repeat("a long text ", 10_000)
	for n := range groups * rows {
		var row library.Row
		for i := range narrow {
			row = append(row, library.Int64Value(int64(n)).Level(0, 0, i))
		}
		row = append(row, library.ByteArrayValue([]byte(text)).Level(0, 0, narrow))
		if _, err := w.WriteRows([]library.Row{row}); err != nil {
			t.Fatal(err)
		}
		if n%rows == rows-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	content := out.Bytes()
	f, err := Open(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var columns []int
	for i := range narrow + 1 {
		columns = append(columns, i)
	}
	read := func(columns []int) (size int) {
		for group := range groups {
			r, err := openRows(f, group, columns, content)
			for ok := true; ok && err == nil; {
				ok, err = r.Next()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return cap(f.memory.page) + cap(f.memory.dictionary)
	}
	if got := read(columns[:narrow]); got == 0 || got > 1000 {
		t.Errorf("got %d bytes of memory for pages of the numbers, want those of a page of %d numbers", got, rows)
	}
	if got := read(columns); got > 2*rows*len(text) {
		t.Errorf("got %d bytes of memory for pages of all columns, want those of a page of %d texts", got, rows)
	}
}
