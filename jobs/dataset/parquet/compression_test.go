package parquet

import (
	"bytes"
	"fmt"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

type repetitive struct {
	Plain    int64   `parquet:"plain,plain"`
	Delta    int64   `parquet:"delta,delta"`
	Codes    string  `parquet:"codes,dict"`
	Text     string  `parquet:"text,plain"`
	Lengths  string  `parquet:"lengths,delta"`
	Float    float64 `parquet:"float,split"`
	Optional *int64  `parquet:"optional,optional,plain"`
}

// TestRepetitivePages reads pages whose content is compressed to a small part of its size.
func TestRepetitivePages(t *testing.T) {
	const n = 5000
	for _, codec := range []compress.Codec{&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Brotli, &library.Zstd, &library.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			var out bytes.Buffer
			w := library.NewGenericWriter[repetitive](&out, library.Compression(codec), library.DataPageVersion(version))
			for i := range int64(n) {
				row := repetitive{7 + i%3, 7 + i%3, fmt.Sprint("code ", i%3), fmt.Sprint("text ", i%3), fmt.Sprint("length ", i%3), float64(i%3) / 4, nil}
				if i%4 > 0 {
					row.Optional = &row.Plain
				}
				if _, err := w.Write([]repetitive{row}); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := readAll(t, out.Bytes())
			for i := range n {
				optional := "-"
				if i%4 > 0 {
					optional = fmt.Sprint(7 + i%3)
				}
				want := fmt.Sprintf("%d|%[1]d|code %d|text %[2]d|length %[2]d|%v|%s|", 7+i%3, i%3, float64(i%3)/4, optional)
				if i >= len(got) || got[i] != want {
					t.Errorf("%s, version %d: got %d rows, row %d %q, want %q", codec, version, len(got), i, got[min(i, len(got)):min(i+1, len(got))], want)
					break
				}
			}
		}
	}
}

// readAll returns the values of each row of an object, each followed by a bar.
func readAll(t *testing.T, content []byte) (list []string) {
	t.Helper()
	r := bytes.NewReader(content)
	f, err := Open(r, r.Size())
	if err != nil {
		t.Fatal(err)
	}
	var columns []int
	for i := range f.Columns() {
		columns = append(columns, i)
	}
	for group := range f.Groups() {
		rows, err := f.Rows(group, columns, r)
		if err != nil {
			t.Fatal(err)
		}
		for {
			ok, err := rows.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			line := ""
			for i := range columns {
				field, _ := rows.Field(i, nil)
				if field == nil {
					field = []byte("-")
				}
				line += string(field) + "|"
			}
			list = append(list, line)
		}
	}
	return list
}

func TestDamagedLZ4(t *testing.T) {
	page := make([]byte, 100)
	for name, src := range map[string][]byte{"no LZ4": bytes.Repeat([]byte{0xff}, 50), "too long": append([]byte{0x1f, 'a', 1, 0, 250}, 0x50, 'a', 'b', 'c', 'd', 'e')} {
		if got, err := library.LookupCompressionCodec(library.Lz4Raw.CompressionCodec()).Decode(page, src); err == nil {
			t.Errorf("%s: got %d bytes, want an error", name, len(got))
		}
	}
}
