package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

type parquetRow struct {
	ID    int64    `parquet:"id"`
	Text  string   `parquet:"text,dict"`
	Float float64  `parquet:"float"`
	Maybe *float64 `parquet:"maybe,optional,dict"`
	Money int64    `parquet:"money,decimal(2:18)"`
	Day   int32    `parquet:"day,date"`
	At    int64    `parquet:"at,timestamp(millisecond)"`
	Small float32  `parquet:"small,dict"`
	List  []int64  `parquet:"list"`
	Yes   bool     `parquet:"yes"`
}

// parquetObject returns an object with row groups of 100 rows, and the text of its rows.
func parquetObject(t testing.TB, n int, options ...library.WriterOption) (content []byte, want []string) {
	t.Helper()
	var out bytes.Buffer
	w := library.NewGenericWriter[parquetRow](&out, append(options, library.MaxRowsPerRowGroup(100), library.PageBufferSize(300))...)
	for i := range n {
		r := parquetRow{
			ID: int64(i), Text: fmt.Sprintf("text %d", i%7), Float: float64(i) / 8, Money: int64(-i - 1), Day: int32(i), At: int64(i) * 1000,
			Small: float32(i) / 10, List: []int64{1, 2}, Yes: i%2 == 0,
		}
		maybe := ""
		if i%3 == 0 {
			f := float64(i) * 1e-12
			r.Maybe, maybe = &f, string(fmt.Appendf(nil, "%v", f))
		}
		if _, err := w.Write([]parquetRow{r}); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d|text %d|%v|%s|-%d.%02d|1970-%02d-%02d|1970-01-01T%02d:%02d:%02dZ|%v|[1,2]|%v", i, i%7, float64(i)/8, maybe,
			(i+1)/100, (i+1)%100, dayMonth(i), dayOf(i), i/3600, i/60%60, i%60, float32(i)/10, i%2 == 0))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), want
}

func dayMonth(i int) int {
	for m, days := range []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if i < days {
			return m + 1
		}
		i -= days
	}
	return 0
}

func dayOf(i int) int {
	for _, days := range []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if i < days {
			return i + 1
		}
		i -= days
	}
	return 0
}

// fieldsJob returns a job whose result is the fields of all records.
func fieldsJob(columns ...string) Job[Input, []string, []string] {
	return Job[Input, []string, []string]{
		Name: "fields", Version: "1", Defaults: Defaults(),
		Columns: func(Input) []string { return columns },
		Fold: func(acc *[]string, r *Record) error {
			var fields []string
			for i := range columns {
				fields = append(fields, string(r.Field(i)))
			}
			*acc = append(*acc, strings.Join(fields, "|"))
			return nil
		},
		Merge:  func(left, right []string) ([]string, error) { return append(left, right...), nil },
		Finish: func(_ context.Context, _ Input, acc []string, _ Totals) ([]string, error) { return acc, nil },
	}
}

func TestParquet(t *testing.T) {
	for name, codec := range map[string]library.WriterOption{
		"plain": library.Compression(&library.Uncompressed), "snappy": library.Compression(&library.Snappy), "zstd": library.Compression(&library.Zstd),
		"gzip": library.Compression(&library.Gzip), "lz4": library.Compression(&library.Lz4Raw), "v1": library.DataPageVersion(1),
	} {
		content, want := parquetObject(t, 330, codec)
		d := &memory.Driver{}
		d.Put("mem://a.parquet", content)
		d.Put("mem://b.parquet", content)
		for _, block := range []int64{1000, int64(len(content)), 1 << 20} {
			in := Defaults()
			in.Source, in.Block = "mem://*.parquet", block
			job := jobs.MustNew(defineOn(fieldsJob("id", "text", "float", "maybe", "money", "day", "at", "small", "list", "yes"), d))
			got := runFields(t, job, in)
			if strings.Join(got, "\n") != strings.Join(append(append([]string{}, want...), want...), "\n") {
				t.Errorf("%s, blocks of %d bytes: got %d rows, the first %q, want %d, the first %q", name, block, len(got), got[:1], 2*len(want), want[0])
			}
		}
	}
}

func runFields(t *testing.T, job jobs.Job, in Input) (fields []string) {
	t.Helper()
	params, err := job.EncodeParams(in)
	if err != nil {
		t.Fatal(err)
	}
	done, err := (jobs.Local{Slots: 2}).Run(t.Context(), job, params)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(done.Result, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestBadParquet(t *testing.T) {
	content, _ := parquetObject(t, 330)
	for name, test := range map[string]struct {
		object  string
		content []byte
		column  string
		want    string
	}{
		"no Parquet": {"mem://a.parquet", []byte("id,text\n1,a\n"), "id", "a.parquet: byte 0: the object is not Parquet or is damaged"},
		"truncated":  {"mem://a.parquet", content[:len(content)-10], "id", "is damaged"},
		"no column":  {"mem://a.parquet", content, "other", `there is no column "other": the columns are id, text, float`},
		"list":       {"mem://a.parquet", content, "list.element", `there is no column "list.element": the columns are id, text, float, maybe, money, day, at, small, list, yes`},
		"compressed": {"mem://a.parquet.gz", content, "id", "decompress the object"},
		"damaged":    {"mem://a.parquet", append(bytes.Repeat([]byte{0xff}, 2000), content[2000:]...), "id", "is damaged"},
	} {
		d := &memory.Driver{}
		d.Put(test.object, test.content)
		in := Defaults()
		in.Source = test.object
		job := jobs.MustNew(defineOn(fieldsJob(test.column), d))
		params, err := job.EncodeParams(in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (jobs.Local{Slots: 1}).Run(t.Context(), job, params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestEqualNamesParquet reads objects whose column b of group a has the name of the column a.b.
func TestEqualNamesParquet(t *testing.T) {
	type inner struct {
		B int64 `parquet:"b"`
	}
	type row struct {
		A  inner `parquet:"a"`
		AB int64 `parquet:"a.b"`
		C  int64 `parquet:"c"`
	}
	var out bytes.Buffer
	if err := library.Write(&out, []row{{inner{1}, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]string{"a.b": `columns 1 and 2 are both named "a.b"`, "c": ""} {
		d := &memory.Driver{}
		d.Put("mem://a.parquet", out.Bytes())
		in := Defaults()
		in.Source = "mem://a.parquet"
		job := jobs.MustNew(defineOn(fieldsJob(column), d))
		params, err := job.EncodeParams(in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (jobs.Local{Slots: 1}).Run(t.Context(), job, params)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", column, err, want)
		}
	}
}

// TestMemoryOfChunks loads the column chunks of row groups of different sizes. They are in the same memory.
func TestMemoryOfChunks(t *testing.T) {
	content := make([]byte, 10_000)
	for i := range content {
		content[i] = byte(i % 251)
	}
	d := &memory.Driver{}
	l := &loaded{reader: newReader(d), ctx: t.Context(), object: d.Put("mem://a", content)}
	between := func(from, to int64) parquet.Range { return parquet.Range{From: from, To: to} }
	for i, ranges := range [][]parquet.Range{
		{between(0, 3000), between(3000, 3000), between(5000, 6000)},
		{between(100, 200), between(0, 9000)},
		{between(7000, 10_000), between(0, 3000), between(0, 3000)},
		nil,
	} {
		before := l.chunks
		list, err := l.load(ranges)
		if err != nil || len(list) != len(ranges) {
			t.Fatalf("row group %d: got %d chunks, %v, want %d", i, len(list), err, len(ranges))
		}
		for k, r := range ranges {
			if !bytes.Equal(list[k], content[r.From:r.To]) {
				t.Errorf("row group %d, chunk %d: got other bytes than those of %v", i, k, r)
			}
		}
		if want := []int{4000, 9100, 9100, 9100}[i]; len(l.chunks) != want {
			t.Errorf("row group %d: got %d bytes of memory, want %d", i, len(l.chunks), want)
		}
		if i > 1 && &l.chunks[0] != &before[0] {
			t.Errorf("row group %d: got other memory than for the row group before it", i)
		}
	}
}

// FuzzParquet reads damaged objects. Reading may fail, but must end.
func FuzzParquet(f *testing.F) {
	for _, rows := range []int{0, 1, 150} {
		content, _ := parquetObject(f, rows)
		f.Add(content)
		f.Add(content[:len(content)-1])
	}
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, content []byte) {
		if readParquet(content) {
			corpus.Taken()
		} else {
			corpus.Refused()
		}
	})
}

// readParquet reads all values of an object, and reports whether all values could be read.
func readParquet(content []byte) bool {
	r := bytes.NewReader(content)
	file, err := parquet.Open(r, r.Size())
	if err != nil {
		return false
	}
	var columns []int
	for i := range file.Columns() {
		columns = append(columns, i)
	}
	for group := range file.Groups() {
		ranges, err := file.Chunks(group, columns)
		if err != nil {
			return false
		}
		var chunks [][]byte
		for _, r := range ranges {
			chunks = append(chunks, content[r.From:r.To])
		}
		rows, err := file.Rows(group, columns, chunks)
		for n := 0; err == nil && n < 1000; n++ {
			var ok bool
			if ok, err = rows.Next(); !ok || err != nil {
				break
			}
			for i := range columns {
				var number exact.Number
				rows.Field(i, nil)
				rows.Number(i, &number)
			}
		}
		if err != nil {
			return false
		}
	}
	return true
}
