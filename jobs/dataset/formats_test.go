package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func TestFormats(t *testing.T) {
	for name, test := range map[string]struct {
		objects []string
		change  func(*Input)
		want    []string
	}{
		"csv":                   {[]string{"a.csv", "x,y\r\n1,2\r\n\r\n3,\"4,\"\"5\"\"\n6\""}, nil, []string{"1|2", "3|4,\"5\"\n6"}},
		"one column":            {[]string{"a.csv", "x\na\n\n\"\"\r\n\r\nb\n\n", "b.csv", "x\n"}, nil, []string{"a", "", "", "", "b", ""}},
		"one column, gzip":      {[]string{"a.csv.gz", gzipped("x\n\n") + gzipped("\r\na")}, nil, []string{"", "", "a"}},
		"one column, no header": {[]string{"a.csv", "\n\na\n\n", "b.csv", "\r\n"}, func(in *Input) { in.Header = false }, []string{"", "", "a", "", ""}},
		"tsv":                   {[]string{"a.tsv", "x\ty\n1\t2, 3\n"}, nil, []string{"1|2, 3"}},
		"delimiter":             {[]string{"a.csv", "x;y\n1;2\n"}, func(in *Input) { in.Delimiter = ";" }, []string{"1|2"}},
		"no quotes":             {[]string{"a.csv", "x,y\n\"1,2\"\n"}, func(in *Input) { in.Quote = "" }, []string{"\"1|2\""}},
		"other quotes":          {[]string{"a.csv", "x,y\n'1,''2',\"3\n"}, func(in *Input) { in.Quote = "'" }, []string{"1,'2|\"3"}},
		"no header":             {[]string{"a.csv", "1,2\n3,4\n", "b.csv", "5,6"}, func(in *Input) { in.Header = false }, []string{"1|2", "3|4", "5|6"}},
		"names":                 {[]string{"a.csv", "whatever,it,is\n3,4\n"}, func(in *Input) { in.Names = "x,y" }, []string{"3|4"}},
		"byte order mark":       {[]string{"a.csv", "\xef\xbb\xbfx,y\n1,2\n", "b.csv", "x,y\n3,4"}, nil, []string{"1|2", "3|4"}},
		"lines":                 {[]string{"a.txt", "one\n\n two\r\nthree"}, nil, []string{"one", "", " two", "three"}},
		"gzip":                  {[]string{"a.csv.gz", gzipped("x,y\n1,2\n") + gzipped("3,4\n"), "b.csv", "x,y\n5,6"}, nil, []string{"1|2", "3|4", "5|6"}},
		"upper case":            {[]string{"A.CSV.GZ", gzipped("x,y\n1,2\n")}, nil, []string{"1|2"}},
		"bzip2":                 {[]string{"a.csv.bz2", bzipped + bzippedRow}, nil, []string{"1|2", "3|4"}},
		"padded gzip":           {[]string{"a.csv.gz", gzipped("x,y\n1,2\n") + gzipped("3,4\n") + strings.Repeat("\x00", 50_000)}, nil, []string{"1|2", "3|4"}},
		"folder":                {[]string{"f/_SUCCESS", "", "f/_temporary/b.csv", "x", "f/.a.csv.crc", "\x01", "f/_k=1/a.csv", "x,y\n1,2\n"}, func(in *Input) { in.Source = "mem://f/" }, []string{"1|2|1"}},
		"zstd":                  {[]string{"a.txt.zst", zstandard("one\ntwo")}, nil, []string{"one", "two"}},
		"given format":          {[]string{"part-0001", "x,y\n1,2\n"}, func(in *Input) { in.Format = "csv" }, []string{"1|2"}},
		"empty fields":          {[]string{"a.csv", "x,y\n,\n\"\",\n"}, nil, []string{"|", "|"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, block := range []int64{1, 2, 3, 5, 1000} {
				got, err := rows(t, func(in *Input) {
					in.Block = block
					if test.change != nil {
						test.change(in)
					}
				}, test.objects...)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("blocks of %d bytes: got %q, %v, want %q", block, got, err, test.want)
				}
			}
		})
	}
}

func TestNDJSON(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.ndjson", []byte(`{"a": 1, "b": "x"}

 {"b":"tab\tquote\"é","other":{"a":[1,"}"]},"a":-1.5e3}
{"a":null}
{}
{"other":[1, {"b":2}],"b":true , "a" : {"c":"]"} }
{"\u0061":"escaped name"}`))
	j := collect
	j.Columns = func(Input) []string { return []string{"b", "a"} }
	j.Open = func(Input, []string) (func(acc *[]string, r *Record) error, error) {
		return func(acc *[]string, r *Record) error {
			*acc = append(*acc, fmt.Sprintf("%q %q %v", r.Field(0), r.Field(1), r.Field(1) == nil))
			return nil
		}, nil
	}
	want := []string{
		`"x" "1" false`, `"tab\tquote\"é" "-1.5e3" false`, `"" "" true`, `"" "" true`,
		`"true" "{\"c\":\"]\"}" false`, `"" "escaped name" false`,
	}
	for _, block := range []int64{1, 7, 1000} {
		in := Defaults()
		in.Source, in.Block = "mem://a.ndjson", block
		got, err := merged(t, j, from, in, rand.New(rand.NewPCG(1, 1)))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("blocks of %d bytes: got\n%q, %v, want\n%q", block, got, err, want)
		}
	}
}

// TestLongRecords checks records that are larger than several partitions, with and without quotes.
// Finish reads parts of the quoted records again.
func TestLongRecords(t *testing.T) {
	const long, short = 10_000_000, 2_500_000 // both records are longer than two partitions
	digits := func(n int) string { return strings.Repeat("0123456789", n/10) }
	lengths := Job[Input, []int, []int]{
		Name: "lengths", Version: "1", Summary: "lengths of records", Defaults: Defaults(),
		Fold: func(acc *[]int, r *Record) error {
			*acc = append(*acc, len(r.Field(0)))
			return nil
		},
		Merge:  func(left, right []int) ([]int, error) { return append(left, right...), nil },
		Finish: func(_ context.Context, _ Input, acc []int, _ Totals) ([]int, error) { return acc, nil },
	}
	for name, test := range map[string]struct {
		content string
		want    []int
	}{
		"unquoted":     {"x\na\n" + digits(short) + "\nb\n", []int{1, short, 1}},
		"quoted":       {"x\na\n\"" + digits(long) + "\"\nb\n", []int{1, long, 1}},
		"line ends":    {"x\na\n\"" + strings.Repeat("012345678\n", short/10) + "\"\nb\n", []int{1, short, 1}},
		"many quotes":  {"x\na\n\"" + strings.Repeat("01234567\"\"\n", short/10) + "\"\nb\n", []int{1, short, 1}},
		"no line ends": {"x\na\n\"" + digits(short) + "\"", []int{1, short}},
	} {
		from := new(memory.Driver)
		from.Put("mem://a.csv", []byte(test.content))
		in := Defaults()
		in.Source, in.Block = "mem://a.csv", 1<<20
		got, err := merged(t, lengths, from, in, rand.New(rand.NewPCG(1, 1)))
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, test.want)
		}
	}
}

// TestPartialsStaySmall checks that the partial of a range without quotes does not contain the
// range's bytes for the reading that begins inside quotes.
func TestPartialsStaySmall(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://m.csv", measurements(4<<20, 0))
	in := Defaults()
	in.Source, in.Delimiter, in.Block = "mem://m.csv", ";", 1<<20
	d := defineOn(byKey, from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Map(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Readings) != 2 {
		t.Fatalf("got %d readings, want 2", len(p.Readings))
	}
	if data, err := encoding.Marshal(p); err != nil || len(data) > 64<<10 {
		t.Errorf("the partial has %d bytes, %v, want at most 64 KiB", len(data), err)
	}
}

// TestCheck checks that jobs over datasets satisfy the conditions of bit identity.
func TestCheck(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", measurements(20_000, 3))
	from.Put("mem://b.csv", measurements(300, 0))
	in := Defaults()
	in.Source, in.Delimiter, in.Block = "mem://*", ";", 777
	job := jobs.MustNew(defineOn(byKey, from))
	params, err := job.EncodeParams(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (jobs.Check{Attempts: 1}).Run(t.Context(), job, params); err != nil {
		t.Error(err)
	}
}

// TestNoAllocationPerRow checks that folding a row does not allocate memory.
func TestNoAllocationPerRow(t *testing.T) {
	for name, quoted := range map[string]int{"plain": 0, "quoted": 2} {
		data := measurements(100_000, quoted)
		data = data[bytes.IndexByte(data, '\n')+1:]
		in := Defaults()
		in.Source, in.Delimiter = "mem://a.csv", ";"
		e := &engine[Input, map[string]*stats, map[string]*stats]{job: byKey}
		_, encoded, err := e.prepare(in, planData{Format: csv, Columns: []string{"station", "temperature"}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := (&folders[map[string]*stats]{make: e.folder}).get(encoded)
		if err != nil {
			t.Fatal(err)
		}
		o := source.Object{Name: "a", Size: 1 << 40}
		s := newScanner(f, o, 1, false, true)
		s.out.Cut = true
		s.feed(data, s.layout.hasQuotes(data)) // adds all keys to the accumulator before the measurement
		if got := testing.AllocsPerRun(10, func() { s.feed(data, s.layout.hasQuotes(data)) }); got > 0 {
			t.Errorf("%s: folding %d rows allocates %v times", name, bytes.Count(data, []byte("\n")), got)
		}
		if s.out.Fault != nil {
			t.Error(s.out.Fault)
		}
	}
}

func TestShortDecimal(t *testing.T) {
	layout := newLayout(Defaults(), lines, nil, nil, nil)
	for range 5_000 {
		random := rand.Float64()
		for _, text := range []string{
			fmt.Sprintf("%.*f", rand.IntN(18), random*1000-500), fmt.Sprint(rand.Int64()), fmt.Sprintf("%g", random*1e30),
		} {
			var want float64
			if _, err := fmt.Sscan(text, &want); err != nil {
				t.Fatal(err)
			}
			r := Record{layout: layout, want: []int{0}, fields: []bound{{0, len(text)}}, data: []byte(text)}
			if got, err := r.Float(0); got != want || err != nil {
				t.Fatalf("%s: got %v, %v, want %v", text, got, err, want)
			}
		}
	}
	for _, text := range []string{"", "-", ".", "-.", "1.2.3", "1-2", "+", "a", "0x"} {
		r := Record{layout: layout, want: []int{0}, fields: []bound{{0, len(text)}}, data: []byte(text)}
		if got, err := r.Float(0); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

func TestValidUTF8(t *testing.T) {
	for range 20_000 {
		text := make([]byte, rand.IntN(40))
		for i := range text {
			text[i] = "abcdefgh\xc3\xa9\xe2\x82\xac\xff"[rand.IntN(14)]
		}
		if got, want := validUTF8(text), strings.ToValidUTF8(string(text), "?") == string(text); got != want {
			t.Fatalf("%q: got %v, want %v", text, got, want)
		}
	}
}

func FuzzListing(f *testing.F) {
	recode := func(data []byte) ([]byte, error) {
		l, err := decodeListing(data)
		return l.encode(), err
	}
	f.Add([]byte("(\xb5/\xfd\x90\x90\x90\x90\x00\xfe\xff\xff/\x00\x00\x020000000000000")) // 29 bytes that claim to contain 4 GB
	fuzztest.Recode(f, recode, []error{errListing}, listing{}.encode(),
		listing{{Name: "/a", Size: 1, Tag: "x"}, {Name: "/a/b", Size: 0, Tag: ""}, {Name: "/c", Size: 1 << 40, Tag: `"0x8D"`}}.encode())
}

// TestNamesOfSharedPartitions checks that the names of a partition's objects fit into an environment
// variable.
func TestNamesOfSharedPartitions(t *testing.T) {
	var l listing
	for i := range 3000 {
		l = append(l, source.Object{Name: fmt.Sprintf("%s%04d", strings.Repeat("n", 200), i), Size: 1})
	}
	r, seen := cut(l, 1<<20), 0
	for partition := range r.count {
		names := 0
		for _, o := range r.part(partition).objects {
			names, seen = names+len(o.Name), seen+1
		}
		if names > maxNames {
			t.Errorf("the names of partition %d take %d bytes", partition, names)
		}
	}
	if seen != len(l) {
		t.Errorf("the partitions have %d of %d objects", seen, len(l))
	}
}

// TestRanges checks that every byte belongs to exactly one partition.
func TestRanges(t *testing.T) {
	for range 2000 {
		var l listing
		for i := range 1 + rand.IntN(20) {
			name := fmt.Sprintf("%02d%s", i, []string{"", ".gz"}[rand.IntN(2)])
			l = append(l, source.Object{Name: name, Size: rand.Int64N(1 << rand.IntN(12))})
		}
		block := 1 + rand.Int64N(300)
		r := cut(l, block)
		i, at := 0, int64(0)
		for partition := range r.count {
			p := r.part(partition)
			total := int64(0)
			for n, o := range p.objects {
				from, to := int64(0), o.Size
				if len(p.objects) == 1 {
					from, to = p.from, p.to
				}
				if o != l[i] || from != at || n > 0 && at != 0 {
					t.Fatalf("partition %d of %v begins at byte %d of %v, want byte %d of %v", partition, l, from, o, at, l[i])
				}
				total += to - from
				if at = to; at == o.Size {
					i, at = i+1, 0
				}
			}
			if total > block && compressionOf(p.objects[0].Name) == plain {
				t.Fatalf("partition %d has %d bytes, want at most %d", partition, total, block)
			}
		}
		if i != len(l) {
			t.Fatalf("the partitions have %d of %d objects", i, len(l))
		}
	}
}
