package parquet

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

type values struct {
	Plain    int64    `parquet:"plain,plain"`
	Delta    int64    `parquet:"delta,delta"`
	Codes    string   `parquet:"codes,dict"`
	Text     string   `parquet:"text,plain"`
	Lengths  string   `parquet:"lengths,delta"`
	Float    float64  `parquet:"float,split"`
	Optional *int64   `parquet:"optional,optional,plain"`
	OptSplit *float64 `parquet:"optional_split,optional,split"`
	OptCodes *string  `parquet:"optional_codes,optional,dict"`
	Repeated []int64  `parquet:"repeated,list"`
}

// TestCodecs reads pages that are hardly compressed, and pages that are compressed to a small part of
// their size.
func TestCodecs(t *testing.T) {
	const n = 5000
	for _, codec := range []compress.Codec{&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Brotli, &library.Zstd, &library.Lz4Raw} {
		for _, different := range []uint64{3, 1000, 1 << 40} {
			for version := 1; version <= 2; version++ {
				var out bytes.Buffer
				var want []string
				w := library.NewGenericWriter[values](&out, library.Compression(codec), library.DataPageVersion(version))
				random := rand.New(rand.NewPCG(1, different))
				for i := range n {
					x := int64(random.Uint64N(different))
					row := values{x, x, fmt.Sprint("code ", x%3), fmt.Sprint("text ", x), fmt.Sprint("length ", x), float64(x) / 4, nil, nil, nil, []int64{x, -x}[:i%3]}
					optional, texts := "-", "-|-"
					if i%4 > 0 {
						row.Optional, row.OptSplit, row.OptCodes = &x, &row.Float, &row.Codes
						optional, texts = fmt.Sprint(x), strconv.FormatFloat(row.Float, 'f', -1, 64)+"|"+row.Codes
					}
					if _, err := w.Write([]values{row}); err != nil {
						t.Fatal(err)
					}
					want = append(want, fmt.Sprintf("%d|%[1]d|%s|%s|%s|%s|%s|%s|%s|", x, row.Codes, row.Text, row.Lengths, strconv.FormatFloat(row.Float, 'f', -1, 64), optional, texts, jsonOf(t, row.Repeated)))
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				got := readAll(t, out.Bytes())
				for i := range n {
					if i >= len(got) || got[i] != want[i] {
						t.Errorf("%s, version %d, %d values: got %d rows, row %d %q, want %q", codec, version, different, len(got), i, got[min(i, len(got)):min(i+1, len(got))], want[i])
						break
					}
				}
			}
		}
	}
}

// TestDuckDB reads objects that DuckDB 1.5.6 has written with each of its codecs and both versions of
// pages: optional columns of integers, texts, floats, booleans, decimals and times, beside lists. A page of
// hash is hardly compressed. The version V2 uses the encodings DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY,
// BYTE_STREAM_SPLIT and RLE_DICTIONARY.
func TestDuckDB(t *testing.T) {
	names, err := filepath.Glob("testdata/duckdb-*.parquet")
	if err != nil || len(names) != 12 {
		t.Fatalf("got %d files, %v, want 12", len(names), err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, content)
		for k := range 100 {
			some, text := "-", "-"
			if k%4 > 0 {
				some = fmt.Sprint(k * 1000003)
			}
			if k%5 > 0 {
				text = fmt.Sprint("text ", k)
			}
			want := fmt.Sprintf("%d|%s|code %d|%x|%s|%s|%t|%s|%d|[%[9]d]|0.%02[9]d|%s|", k*k, some, k%3, md5.Sum(fmt.Append(nil, k)), text,
				strconv.FormatFloat(float64(k)/4, 'f', -1, 64), k%2 == 0, []string{"[]", "[0]", "[0,1]"}[k%3], k, start.Add(time.Duration(k)*time.Millisecond).Format(time.RFC3339Nano))
			if len(got) != 100 || got[k] != want {
				t.Errorf("%s: got %d rows, row %d %q, want %q", name, len(got), k, got[min(k, len(got)):min(k+1, len(got))], want)
				break
			}
		}
	}
}

// TestArrow reads objects that Apache Arrow for Go 18.8.0 has written with each of its codecs and both
// versions of pages: required and optional columns of each encoding, beside repeated columns.
func TestArrow(t *testing.T) {
	names, err := filepath.Glob("testdata/arrow-*.parquet")
	if err != nil || len(names) != 12 {
		t.Fatalf("got %d files, %v, want 12", len(names), err)
	}
	const rows = 40
	var want []string
	for k := range rows {
		text, integer, quarter, third := fmt.Sprintf("%x", md5.Sum(fmt.Append(nil, k)))[:k%32], k*1000000007, strconv.FormatFloat(float64(k)/4, 'f', -1, 64), k%3 == 0
		row := fmt.Sprintf("%d|%[1]d|%[1]d|%d|%d|%s|%[4]s|%[4]s|code %[5]d|%s|%[6]s|%t|%[7]t|", integer, k%3*1000000007, -k*k, text, k%3, quarter, third)
		if optional := row; k%4 == 0 {
			row += strings.Repeat("-|", 13)
		} else {
			row += optional
		}
		numbers, codes := slices.Repeat([]int{integer}, k%3), slices.Repeat([]string{fmt.Sprint("code ", k%3)}, k%3)
		row += jsonOf(t, numbers) + "|" + jsonOf(t, codes) + "|"
		want = append(want, row)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := readAll(t, content)
		for k := range rows {
			if len(got) != rows || got[k] != want[k] {
				t.Errorf("%s: got %d rows, row %d\n%q, want\n%q", name, len(got), k, got[min(k, len(got)):min(k+1, len(got))], want[k])
				break
			}
		}
	}
}

// jsonOf returns a value as JSON. A slice without items is a list without items.
func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
		rows, err := openRows(f, group, columns, content)
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
				field, _ := rows.Field(i, []byte{})
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

// openRows returns the rows of a row group of an object.
func openRows(f *File, group int, columns []int, content []byte) (*Rows, error) {
	ranges, err := f.Chunks(group, columns)
	if err != nil {
		return nil, err
	}
	var chunks [][]byte
	for _, r := range ranges {
		chunks = append(chunks, content[r.From:r.To])
	}
	return f.Rows(group, columns, chunks)
}

func TestDamagedLZ4(t *testing.T) {
	page := make([]byte, 100)
	for name, src := range map[string][]byte{"no LZ4": bytes.Repeat([]byte{0xff}, 50), "too long": append([]byte{0x1f, 'a', 1, 0, 250}, 0x50, 'a', 'b', 'c', 'd', 'e')} {
		if got, err := decoders[format.Lz4Raw].Decode(page, src); err == nil {
			t.Errorf("%s: got %d bytes, want an error", name, len(got))
		}
	}
}

// TestHadoopLZ4 decodes pages of the deprecated codec LZ4: blocks with their sizes, and one block without.
func TestHadoopLZ4(t *testing.T) {
	content := bytes.Repeat([]byte("a page of text "), 20)
	block := func(content []byte) []byte {
		compressed := make([]byte, lz4.CompressBlockBound(len(content)))
		n, err := lz4.CompressBlock(content, compressed, nil)
		if err != nil {
			t.Fatal(err)
		}
		return compressed[:n]
	}
	framed := func(content []byte) []byte {
		compressed := block(content)
		sizes := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(content))), uint32(len(compressed)))
		return append(sizes, compressed...)
	}
	for name, src := range map[string][]byte{
		"one block":     framed(content),
		"two blocks":    append(framed(content[:100]), framed(content[100:])...),
		"without sizes": block(content),
	} {
		got, err := decoders[format.Lz4].Decode(make([]byte, len(content)), src)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, content)
		}
	}
	if got, err := decoders[format.Lz4].Decode(make([]byte, len(content)), framed(content)[:30]); err == nil {
		t.Errorf("truncated: got %d bytes, want an error", len(got))
	}
}
