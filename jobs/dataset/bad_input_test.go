package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	gziplib "github.com/klauspost/compress/gzip"
	zstdlib "github.com/klauspost/compress/zstd"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// rows runs the job collect over objects. The objects are given as alternating names and contents.
func rows(t *testing.T, change func(*Input), objects ...string) ([]string, error) {
	t.Helper()
	from := new(memory.Driver)
	for i := 0; i < len(objects); i += 2 {
		from.Put("mem://"+objects[i], []byte(objects[i+1]))
	}
	in := Defaults()
	in.Source = "mem://*"
	if change != nil {
		change(&in)
	}
	return merged(t, collect, from, in, rand.New(rand.NewPCG(1, 1)))
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gziplib.NewWriter(&b)
	_, _ = io.WriteString(w, text) // writing to a buffer never fails
	_ = w.Close()
	return b.String()
}

func zstandard(text string) string {
	w, _ := zstdlib.NewWriter(nil)
	return string(w.EncodeAll([]byte(text), nil))
}

// bzipped is the output of bzip2 for "x,y\n1,2\n", and bzippedRow for "3,4\n".
const (
	bzipped    = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xdf\x0b\x50\x3f\x00\x00\x03\x58\x80\x00\x10\x00\x04\x30\x00\x00\x60\x20\x00\x30\xc0\x08\x69\xb2\x88\x23\x27\x8b\xb9\x22\x9c\x28\x48\x6f\x85\xa8\x1f\x80"
	bzippedRow = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x2d\x9f\xe7\x36\x00\x00\x01\x58\x00\x00\x10\x00\x04\x0c\x00\x20\x00\x21\x9a\x68\x33\x4d\x17\x3c\x5d\xc9\x14\xe1\x42\x40\xb6\x7f\x9c\xd8"
)

// TestBadInput checks that errors contain the name of the object, the offset and advice.
func TestBadInput(t *testing.T) {
	long := strings.Repeat("1,2\n", 1000)
	for name, test := range map[string]struct {
		objects []string
		change  func(*Input)
		want    []string
	}{
		"ragged row":                  {[]string{"a.csv", "x,y\n1,2\n1,2,3\n"}, nil, []string{"mem://a.csv", "byte 8", "3 fields", "want 2"}},
		"short row":                   {[]string{"a.csv", "x,y\n1,2\n1\n"}, nil, []string{"byte 8", "1 fields", "want 2"}},
		"ragged row in joint":         {[]string{"a.csv", "x,y\n1,2\n1,2,3\n"}, func(in *Input) { in.Block = 5 }, []string{"byte 8", "3 fields"}},
		"bare quote":                  {[]string{"a.csv", "x,y\n1,2\n1,2\"\n3,\"4\n"}, nil, []string{"mem://a.csv", "byte 8", "double the quote"}},
		"text after quote":            {[]string{"a.csv", "x,y\n\"1\"2,3\n"}, nil, []string{"byte 4", "double a quote"}},
		"open quote":                  {[]string{"a.csv", "x,y\n1,\"2\n3,4\n"}, nil, []string{"byte 4", "odd number of quotes"}},
		"invalid UTF-8":               {[]string{"a.csv", "x,y\n1,2\n\xff,2\n"}, nil, []string{"byte 8", "iconv"}},
		"invalid UTF-8, header":       {[]string{"a.csv", "x,\xff\n1,2\n"}, nil, []string{"mem://a.csv", "byte 0", "iconv"}},
		"other header":                {[]string{"a.csv", "x,y\n1,2\n", "b.csv", "y,x\n1,2\n"}, nil, []string{"mem://b.csv", "got y, x, want x, y"}},
		"empty first line":            {[]string{"a.csv", "\nx,y\n"}, nil, []string{"mem://a.csv", "header=false"}},
		"delimiter for Excel":         {[]string{"a.csv", "sep=;\nx;y\n1;2\n"}, nil, []string{"mem://a.csv", "byte 0", "remove the line", "delimiter=;"}},
		"delimiter for Excel, given":  {[]string{"a.csv", "\"sep=;\"\r\nx;y\n1;2\n"}, func(in *Input) { in.Delimiter = ";" }, []string{"remove the line", "delimiter=;"}},
		"truncated gzip":              {[]string{"a.csv.gz", gzipped(long)[:40]}, nil, []string{"mem://a.csv.gz", "truncated", "write the object again"}},
		"damaged gzip":                {[]string{"a.csv.gz", gzipped(long)[:10] + "\xff\xff\xff\xff\xff"}, nil, []string{"mem://a.csv.gz", "damaged"}},
		"no gzip":                     {[]string{"a.csv.gz", "no gzip at all, whatever the name says"}, nil, []string{"mem://a.csv.gz", "not gzip"}},
		"no gzip, few bytes":          {[]string{"a.csv.gz", "a\n1\n"}, nil, []string{"mem://a.csv.gz", "not gzip"}},
		"no zstd":                     {[]string{"a.csv.zst", "no zstd at all, whatever the name says"}, nil, []string{"mem://a.csv.zst", "not zstd"}},
		"garbage after gzip":          {[]string{"a.csv.gz", gzipped(long) + "garbage"}, nil, []string{"mem://a.csv.gz", "followed by other bytes"}},
		"garbage after zeros":         {[]string{"a.csv.gz", gzipped(long) + "\x00\x00garbage"}, nil, []string{"mem://a.csv.gz", "followed by other bytes"}},
		"no bzip2":                    {[]string{"a.csv.bz2", "no bzip2 at all, whatever the name says"}, nil, []string{"mem://a.csv.bz2", "not bzip2"}},
		"no bzip2, few bytes":         {[]string{"a.csv.bz2", "a\n1\n"}, nil, []string{"mem://a.csv.bz2", "not bzip2"}},
		"truncated bzip2":             {[]string{"a.csv.bz2", bzipped[:len(bzipped)-8]}, nil, []string{"mem://a.csv.bz2", "truncated"}},
		"damaged bzip2":               {[]string{"a.csv.bz2", bzipped[:20] + "\xff" + bzipped[21:]}, nil, []string{"mem://a.csv.bz2", "damaged"}},
		"other bytes after bzip2":     {[]string{"a.csv.bz2", bzipped + "3,4\n"}, nil, []string{"mem://a.csv.bz2", "damaged"}},
		"truncated 2nd gzip":          {[]string{"a.csv.gz", gzipped(long) + gzipped(long)[:5]}, nil, []string{"mem://a.csv.gz", "truncated"}},
		"truncated zstd":              {[]string{"a.csv.zst", zstandard(long)[:20]}, nil, []string{"mem://a.csv.zst", "truncated"}},
		"no format":                   {[]string{"a.dat", "x"}, nil, []string{"mem://a.dat", ".ndjson", "parameter format"}},
		"carriage returns, no header": {[]string{"a.csv", "1,2\r3,4\r"}, func(in *Input) { in.Header, in.OnError = false, "skip" }, []string{"mem://a.csv", "carriage returns"}},
		"carriage returns, names":     {[]string{"a.csv", "x,y\r1,2\r"}, func(in *Input) { in.Names, in.Block = "a,b", 3 }, []string{"mem://a.csv", "carriage returns"}},
		"UTF-16 of CSV":               {[]string{"a.csv", "x\x00,\x00y\x00\n\x001\x00,\x002\x00\n\x00"}, nil, []string{"mem://a.csv", "iconv -f UTF-16LE"}},
		"UTF-16 of big endian":        {[]string{"a.txt", "\x00x\x00\n"}, func(in *Input) { in.OnError = "skip" }, []string{"mem://a.txt", "iconv -f UTF-16LE"}},
		"UTF-16 of JSON":              {[]string{"a.ndjson", "{\x00}\x00\n\x00"}, nil, []string{"mem://a.ndjson", "iconv -f UTF-16LE"}},
		"carriage returns":            {[]string{"a.csv", "x,y\r1,2\r"}, nil, []string{"mem://a.csv", "carriage returns"}},
		"equal names":                 {[]string{"a.csv", "x,y,z,y\n1,2,3,4\n"}, nil, []string{`columns 2 and 4 are both named "y"`}},
		"equal given names":           {[]string{"a.csv", "x,y\n1,2\n"}, func(in *Input) { in.Names = "b,b" }, []string{`columns 1 and 2 are both named "b"`}},
		"two formats":                 {[]string{"a.csv", "x", "b.tsv", "x"}, nil, []string{"a.csv is csv", "b.tsv is tsv"}},
		"empty listing":               {nil, nil, []string{"no object matches", "mem://*"}},
		"one empty listing":           {[]string{"a.csv", "x\n"}, func(in *Input) { in.Source = "mem://*,mem://none*" }, []string{"no object matches", `"mem://none*"`}},
		"no input":                    {nil, func(in *Input) { in.Source = " , " }, []string{"parameter input is empty"}},
		"missing object":              {nil, func(in *Input) { in.Source = "mem://missing.csv" }, []string{"mem://missing.csv", "not found", "check the parameter input"}},
		"secret":                      {nil, func(in *Input) { in.Source = "https://h/a.csv?sig=abc" }, []string{"parameter input", "sig", "environment"}},
		"bad JSON":                    {[]string{"a.ndjson", "{}\n{\"a\":}\n"}, nil, []string{"byte 3", "not JSON"}},
		"no JSON object":              {[]string{"a.ndjson", "[1]\n"}, nil, []string{"byte 0", "JSON object on each line"}},
		"UTF-16":                      {[]string{"a.txt", "\xff\xfea\x00\n\x00"}, nil, []string{"byte 0", "UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rows(t, test.change, test.objects...)
			if err == nil {
				t.Fatalf("got %q, want an error", got)
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
		})
	}
}

func TestParameters(t *testing.T) {
	job := jobs.MustNew(Define(collect))
	for pair, want := range map[string]string{
		"delimiter=;;":                 "one ASCII character",
		"delimiter=é":                  "one ASCII character",
		"delimiter=\n":                 "line end",
		"delimiter=\"":                 "want different characters",
		"quote=,":                      "want different characters",
		"format=xml":                   "one of auto",
		"block=0":                      "at least 1",
		"input=https://me:pw@host/a":   "a user or a password",
		"input=a.csv,azblob://c/a?sig": "secret",
		"input=":                       "parameter input: the job needs a value: the objects to read",
	} {
		if _, err := job.Params(nil, "input=a.csv", pair); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", pair, err, want)
		}
	}
}

// on-error=skip skips no header.
func TestSkippedHeader(t *testing.T) {
	for _, second := range []string{"\nx,y\n3,4\n", "\"x,y\n3,4\n\"", "\"x\"z,y\n3,4\n"} {
		from := new(memory.Driver)
		from.Put("mem://a.csv", []byte("x,y\n1,2\n"))
		from.Put("mem://b.csv", []byte(second))
		in := Defaults()
		in.Source, in.OnError = "mem://*", "skip"
		if got, err := merged(t, collect, from, in, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), errHeader.Error()) {
			t.Errorf("%q: got %q, %v, want the error of the header", second, got, err)
		}
	}
}

func TestSkippedRecords(t *testing.T) {
	var totals Totals
	counting := collect
	counting.Finish = func(_ context.Context, _ Input, acc []string, all Totals) ([]string, error) {
		totals = all
		return acc, nil
	}
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n1,2\nbad\n3,\"4\"\n\xff,5\n5,6\"\"\n7,8"))
	for block := int64(1); block < 50; block++ {
		in := Defaults()
		in.Source, in.OnError, in.Block = "mem://*", "skip", block
		got, err := merged(t, counting, from, in, rand.New(rand.NewPCG(1, uint64(block))))
		if err != nil || strings.Join(got, " ") != "1|2 3|4 7|8" {
			t.Fatalf("blocks of %d bytes: got %q, %v", block, got, err)
		}
		if totals.Records != 3 || totals.Skipped != 3 || len(totals.Samples) != 3 || totals.Samples[0].Offset != 8 || totals.Samples[1].Offset != 18 || totals.Samples[2].Offset != 22 {
			t.Fatalf("blocks of %d bytes: got %+v, want 3 records, and 3 skipped at bytes 8, 18 and 22", block, totals)
		}
	}
}

func TestEmptyObjects(t *testing.T) {
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"empty file":           {[]string{"a.csv", ""}, ""},
		"header alone":         {[]string{"a.csv", "x,y\n"}, ""},
		"header without end":   {[]string{"a.csv", "x,y"}, ""},
		"empty among others":   {[]string{"a.csv", "", "b.csv", "x,y\n1,2\n", "c.csv", "", "d.csv", "x,y\n"}, "1|2"},
		"compressed and empty": {[]string{"a.csv.gz", gzipped(""), "b.csv", "x,y\n1,2\n"}, "1|2"},
	} {
		for _, block := range []int64{1, 3, 100} {
			got, err := rows(t, func(in *Input) { in.Block = block }, test.objects...)
			if err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%s, blocks of %d bytes: got %q, %v, want %q", name, block, got, err, test.want)
			}
		}
	}
	_, err := rows(t, nil, "a.csv", "")
	if err != nil {
		t.Error(err)
	}
}

// TestMissingColumn checks that the plan fails if the job reads a column that does not exist.
func TestMissingColumn(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("a,b,b\n"))
	for column, want := range map[string]string{"c": "the columns are a, b, b", "b": `columns 2 and 3 are both named "b": rename one of them, or for csv and tsv give the parameter names`} {
		j := collect
		j.Columns = func(Input) []string { return []string{column} }
		in := Defaults()
		in.Source = "mem://a.csv"
		if _, err := defineOn(j, from).Plan(t.Context(), in); err == nil || !strings.Contains(err.Error(), want) || !jobs.IsPermanent(err) {
			t.Errorf("%s: got %v, want %q, permanent", column, err, want)
		}
	}
}

// TestSkippedPartitions checks that a skipped partition is allowed between objects but not within
// an object.
func TestSkippedPartitions(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x\n1\n2\n3\n4\n"))
	from.Put("mem://b.csv", []byte("x\n5\n6\n7\n8\n"))
	in := Defaults()
	in.Source, in.Block = "mem://*", 5 // two partitions per object
	d := defineOn(collect, from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil || plan.Partitions != 4 {
		t.Fatal(plan.Partitions, err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	part := func(i uint64) Partial[[]string] {
		p, err := m.Map(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, err := d.Merge(part(0), part(2)); err == nil || !strings.Contains(err.Error(), "partitions in the middle of an object were skipped") {
		t.Errorf("got %v, want an error that says what was skipped", err)
	}
	first, err := d.Merge(part(0), part(1))
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Merge(part(2), part(3))
	if err != nil {
		t.Fatal(err)
	}
	second.From++ // simulates missing objects
	both, err := d.Merge(first, second)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Finish(t.Context(), in, both); err != nil || strings.Join(got, "") != "12345678" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestPanicOfTheWrongReading checks that a panic of Fold in the wrong reading of a range does not
// fail the job.
func TestPanicOfTheWrongReading(t *testing.T) {
	from := new(memory.Driver)
	// If the second range began outside quotes, it would have a record "boom".
	from.Put("mem://a.csv", []byte("x\n\"quoted\nboom\nend\"\nlast\n"))
	j := collect
	j.Open = func(Input, []string) (func(acc *[]string, r *Record) error, error) {
		return func(acc *[]string, r *Record) error {
			if string(r.Field(0)) == "boom" {
				panic("boom")
			}
			*acc = append(*acc, string(r.Field(0)))
			return nil
		}, nil
	}
	for block := int64(1); block < 30; block++ {
		in := Defaults()
		in.Source, in.Block = "mem://a.csv", block
		got, err := merged(t, j, from, in, rand.New(rand.NewPCG(1, uint64(block))))
		if want := "quoted\nboom\nend last"; err != nil || strings.Join(got, " ") != want {
			t.Errorf("blocks of %d bytes: got %q, %v, want %q", block, got, err, want)
		}
	}
}

// flaky is a source whose reads fail.
type flaky struct {
	memory.Driver
	fail func() error
}

func (f *flaky) Read(ctx context.Context, o source.Object, from, to int64) (io.ReadCloser, error) {
	err := f.fail()
	if errors.Is(err, source.ErrUnavailable) {
		return nil, err
	}
	body, readErr := f.Driver.Read(ctx, o, from, to)
	if readErr != nil || err == nil {
		return body, readErr
	}
	// The returned body simulates a connection that breaks after seven bytes.
	return io.NopCloser(io.MultiReader(io.LimitReader(body, 7), failing{err})), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestReadsAreRetried(t *testing.T) {
	text := "x\n" + strings.Repeat("1\n", 100)
	for name, failure := range map[string]error{
		"throttled":          fmt.Errorf("%w: 429", source.ErrUnavailable),
		"connection reset":   errors.New("connection reset by peer"),
		"connection closed":  io.EOF,
		"unexpected EOF":     io.ErrUnexpectedEOF,
		"not found":          source.ErrNotFound,
		"denied":             source.ErrDenied,
		"changed meanwhile":  source.ErrChanged,
		"throttled for ever": source.ErrUnavailable,
	} {
		reads := 0
		from := &flaky{fail: func() error {
			reads++
			if name != "throttled for ever" && errors.Is(failure, source.ErrUnavailable) && reads%3 == 0 {
				return nil
			}
			return failure
		}}
		o := from.Put("mem://a.csv", []byte(text))
		got, err := io.ReadAll(reader{source: from, pause: 1, idle: maxIdle}.open(t.Context(), o, 0, o.Size))
		switch name {
		case "not found", "denied", "changed meanwhile", "throttled for ever":
			if !errors.Is(err, failure) {
				t.Errorf("%s: got %v, want %v", name, err, failure)
			}
		default:
			if string(got) != text || err != nil {
				t.Errorf("%s: got %d bytes, %v after %d requests", name, len(got), err, reads)
			}
		}
	}
}

// TestChangedObject checks that a job fails at once if an object changes after it was listed.
func TestChangedObject(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x\n1\n"))
	in := Defaults()
	in.Source = "mem://a.csv"
	d := defineOn(collect, from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	from.Put("mem://a.csv", []byte("x\n2\n"))
	if _, err := m.Map(t.Context(), 0); !errors.Is(err, source.ErrChanged) || !jobs.IsPermanent(err) || !strings.Contains(err.Error(), "mem://a.csv") {
		t.Errorf("got %v, want ErrChanged and the name, permanent", err)
	}
}
