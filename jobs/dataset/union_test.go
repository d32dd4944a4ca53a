package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// namedFields returns a job that collects the fields of columns, or with nil, of all columns. A missing value is written as a dash.
func namedFields(wanted []string) Job[Input, []string, []string] {
	j := collect
	j.Fold = nil
	if wanted != nil {
		j.Columns = func(Input) []string { return wanted }
	}
	j.Open = func(_ Input, columns []string) (func(acc *[]string, r *Record) error, error) {
		if wanted != nil {
			columns = wanted
		}
		return func(acc *[]string, r *Record) error {
			var fields []string
			for i := range columns {
				field := r.Field(i)
				if fields = append(fields, string(field)); field == nil {
					fields[i] = "-"
				}
			}
			*acc = append(*acc, strings.Join(fields, "|"))
			return nil
		}, nil
	}
	return j
}

// parquetOf returns a Parquet object of columns of texts or integers, given as name:type.
func parquetOf(t *testing.T, columns string, rows ...string) []byte {
	t.Helper()
	var names, types []string
	for _, c := range strings.Fields(columns) {
		name, typ, _ := strings.Cut(c, ":")
		names, types = append(names, name), append(types, typ)
	}
	w, err := parquet.NewWriter(names, types)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var fields [][]byte
		for _, field := range strings.Split(row, "|") {
			fields = append(fields, []byte(field))
		}
		if err := w.Add(fields); err != nil {
			t.Fatal(err)
		}
	}
	content, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestUnionByName reads objects whose columns differ, in blocks of many sizes.
func TestUnionByName(t *testing.T) {
	objects := []string{
		"a.csv", "x,y\n1,2\n\"1\n1\",\"2,\n\"\n", "b.csv", "y,x,z\n3,4,5\n" + strings.Repeat("\"3\n,\",4,5\n", 20), "c.csv", "", "d.csv", "z\n\n6\n", "e.csv", "x,y\n7,8",
	}
	all := slices.Concat([]string{"1|2|-", "1\n1|2,\n|-", "4|3|5"}, slices.Repeat([]string{"4|3\n,|5"}, 20), []string{"-|-|", "-|-|6", "7|8|-"})
	only := func(columns ...int) (rows []string) {
		for _, row := range all {
			fields := strings.Split(row, "|")
			var some []string
			for _, c := range columns {
				some = append(some, fields[c])
			}
			rows = append(rows, strings.Join(some, "|"))
		}
		return rows
	}
	for _, c := range []struct {
		folder string
		wanted []string
		want   []string
	}{
		{"", nil, all},
		{"", []string{"z", "x"}, only(2, 0)},
		{"", []string{"z"}, only(2)},
		{"day=5/", []string{"x", "day", "y"}, func() (rows []string) {
			for _, row := range all {
				f := strings.Split(row, "|")
				rows = append(rows, f[0]+"|5|"+f[1])
			}
			return rows
		}()},
	} {
		from := new(memory.Driver)
		for i := 0; i < len(objects); i += 2 {
			from.Put("mem://"+c.folder+objects[i], []byte(objects[i+1]))
		}
		in := Defaults()
		in.Source, in.Union = "mem://*", byName
		if c.folder != "" {
			in.Source = "mem://" + c.folder + "*"
		}
		for seed := range uint64(60) {
			random := rand.New(rand.NewPCG(seed, 0))
			in.Block = int64(12 + seed*seed/4) // the header is in the first block of an object
			if got, err := merged(t, namedFields(c.wanted), from, in, random); err != nil || !slices.Equal(got, c.want) {
				t.Fatalf("columns %q, blocks of %d bytes: got %q, %v, want %q", c.wanted, in.Block, got, err, c.want)
			}
		}
	}
}

// TestUnionOfCompressed reads objects of bgzip whose columns differ, with records that are read again.
func TestUnionOfCompressed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	long := strings.Repeat("a, \"\"b\"\"\n", 60_000)
	from := new(memory.Driver)
	from.Put("mem://a.csv.gz", []byte(bgzipped(random, "x,y\n1,2\n", 5)))
	from.Put("mem://b.csv.gz", []byte(bgzipped(random, "y,x\n\"3\n\",4\n"+strings.Repeat("5,\""+long+"\"\n", 5), 60_000)))
	from.Put("mem://c.csv", []byte("z,x\n\""+long+"\",6\n7,8\n"))
	text := strings.ReplaceAll(long, `""`, `"`)
	want := slices.Concat([]string{"1|2|-", "4|3\n|-"}, slices.Repeat([]string{text + "|5|-"}, 5), []string{"6|-|" + text, "8|-|7"})
	in := Defaults()
	in.Source, in.Union = "mem://*", byName
	for _, in.Block = range []int64{3000, 50_000, 1 << 20} {
		if got, err := merged(t, namedFields(nil), from, in, random); err != nil || !slices.Equal(got, want) {
			t.Errorf("blocks of %d bytes: got %d rows, %v, want %d", in.Block, len(got), err, len(want))
		}
	}
}

// TestUnionOfParquet reads Parquet objects whose columns differ, also in rounds.
func TestUnionOfParquet(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.parquet", parquetOf(t, "i:integer s:text", "1|a", "|b"))
	from.Put("mem://b.parquet", parquetOf(t, "s:text d:date i:decimal(9,2)", "c|2026-11-22|1.50"))
	from.Put("mem://c.parquet", parquetOf(t, "d:date", "2026-11-23"))
	want := []string{"1|a|-", "-|b|-", "1.50|c|2026-11-22", "-|-|2026-11-23"}
	in := Defaults()
	in.Source, in.Union = "mem://*", byName
	for _, block := range []int64{1, 100, 1 << 20} {
		in.Block = block
		random := rand.New(rand.NewPCG(uint64(block), 0))
		if got, err := merged(t, namedFields(nil), from, in, random); err != nil || !slices.Equal(got, want) {
			t.Errorf("blocks of %d bytes: got %q, %v, want %q", block, got, err, want)
		}
		got, _, err := pass(t, from, in, 2)
		if err != nil || !slices.Equal(got, []string{"1|a|", "|b|", "1.50|c|2026-11-22", "||2026-11-23"}) {
			t.Errorf("rounds: got %q, %v", got, err)
		}
	}
	d := defineOn(namedFields(nil), from)
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.Preview(t.Context(), in, plan)
	if got := fmt.Sprint(v.Columns); err != nil || got != "[{i decimal} {s text} {d text}]" {
		t.Errorf("preview: got %s, %v", got, err)
	}
}

func TestUnionThatIsRefused(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n1,2\n"))
	from.Put("mem://b.csv", []byte("x,y,x\n1,2,3\n"))
	from.Put("mem://c.ndjson", []byte("{}\n"))
	from.Put("mem://d.txt", []byte("x\n"))
	from.Put("mem://e1.parquet", parquetOf(t, "k:integer i:integer", "1|1"))
	from.Put("mem://e2.parquet", parquetOf(t, "i:text", "a"))
	from.Put("mem://g1.parquet", parquetOf(t, "a:text b:text", "1|2"))
	from.Put("mem://g2.parquet", parquetOf(t, "a:text", "1"))
	from.Put("mem://f1.csv", []byte("x\n1\n"))
	from.Put("mem://f2.csv", []byte("x,y\n1,2\n3\n"))
	for _, c := range []struct {
		source string
		edit   func(*Input)
		want   string
	}{
		{"mem://a.csv,mem://b.csv", nil, `mem://b.csv: byte 0: columns 1 and 3 are both named "x"`},
		{"mem://a.csv", func(in *Input) { in.Union = "by-position" }, `parameter union: got "by-position", takes by-name`},
		{"mem://a.csv", func(in *Input) { in.Header = false }, "parameter union: wants objects with headers"},
		{"mem://a.csv", func(in *Input) { in.Names = "p,q" }, "parameter union: wants objects with headers"},
		{"mem://c.ndjson", nil, "give members that the first records lack with the parameter names"},
		{"mem://d.txt", nil, "parameter union: takes csv, tsv or parquet"},
		{"mem://e*", nil, `column "i" has the type integer in mem://e1.parquet and text in mem://e2.parquet`},
		{"mem://f*", nil, `mem://f2.csv: byte 8: "3" has 1 fields: want 2`},
		{"mem://f*", func(in *Input) { in.Union = "" }, "the parameter union=by-name reads objects whose columns differ"},
		{"mem://g*", func(in *Input) { in.Union = "" }, "the parameter union=by-name reads objects that lack columns"},
	} {
		in := Defaults()
		in.Source, in.Union = c.source, byName
		if c.edit != nil {
			c.edit(&in)
		}
		if got, err := merged(t, namedFields(nil), from, in, rand.New(rand.NewPCG(0, 0))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v, want %s", c.source, got, err, c.want)
		}
	}
	for i := range maxHeaders + 1 {
		from.Put(fmt.Sprintf("mem://many/%04d.csv", i), fmt.Appendf(nil, "c%d\n", i))
	}
	in := Defaults()
	in.Source, in.Union = "mem://many/*", byName
	if _, err := merged(t, namedFields(nil), from, in, rand.New(rand.NewPCG(0, 0))); err == nil || !strings.Contains(err.Error(), "mem://many/1000.csv: ") {
		t.Errorf("got %v, want the object with too many lists", err)
	}
}
