package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// passes is what the job of passed returns.
type passes struct {
	Rounds [][]string // the records of each round
	Totals Totals
}

// passed is a job with three rounds, each of which collects all records in the order of the input. It counts the
// partitions that it reads.
func passed(read *atomic.Int64) Rounds[Input, []string, [][]string, []string, passes] {
	return Rounds[Input, []string, [][]string, []string, passes]{
		Name: "passed", Version: "1", Summary: "all records, three times", Defaults: Defaults(),
		Open: func(_ Input, columns []string) (func(rows *[]string, r *Record) error, error) {
			return func(rows *[]string, r *Record) error {
				if len(*rows) == 0 {
					read.Add(1)
				}
				var fields []string
				for i := range max(1, len(columns)) {
					fields = append(fields, string(r.Field(i)))
				}
				*rows = append(*rows, strings.Join(fields, "|"))
				return nil
			}, nil
		},
		Size:  func(rows []string) int64 { return int64(len(rows)) },
		Start: func(context.Context, Input) ([][]string, error) { return nil, nil },
		Map: func(_ context.Context, _ Input, _ [][]string, _ Place, rows []string) ([]string, error) {
			return slices.Clone(rows), nil
		},
		Merge: func(left, right []string) ([]string, error) { return append(left, right...), nil },
		Next: func(_ context.Context, _ Input, state [][]string, total []string, _ uint64) (jobs.Step[[][]string], error) {
			return jobs.Step[[][]string]{State: append(state, total)}, nil
		},
		MaxRounds: func(Input) uint64 { return 3 },
		Finish: func(_ context.Context, _ Input, state [][]string, totals Totals) (passes, error) {
			return passes{state, totals}, nil
		},
	}
}

// pass runs the job over objects and returns the records of its rounds, which must be the same.
func pass(t testing.TB, from *memory.Driver, in Input, slots int) (records []string, totals Totals, err error) {
	t.Helper()
	var read atomic.Int64
	job := jobs.MustNewRounds(defineRounds(passed(&read), func(context.Context) source.Driver { return from }))
	params, err := job.EncodeParams(in)
	if err != nil {
		t.Fatal(err)
	}
	done, err := (jobs.Local{Slots: slots, Attempts: 1}).Run(t.Context(), job, params)
	if err != nil {
		return nil, totals, err
	}
	var p passes
	if err := json.Unmarshal(done.Result, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Rounds) != 3 || !slices.Equal(p.Rounds[0], p.Rounds[1]) || !slices.Equal(p.Rounds[0], p.Rounds[2]) {
		t.Errorf("the rounds differ: %q", p.Rounds)
	}
	if most := int64(2 * done.Partitions); read.Load() > most { // two readings
		t.Errorf("%d partitions were read %d times", done.Partitions, read.Load())
	}
	return p.Rounds[0], p.Totals, nil
}

// TestRoundsReadAllFormats reads objects of each format, cut at each of many places.
func TestRoundsReadAllFormats(t *testing.T) {
	for name, test := range map[string]struct {
		objects []string
		edit    func(*Input)
		want    []string
	}{
		"csv":        {[]string{"a.csv", "x,y\n1,2\r\n\r\n3,4\n5,6", "b.csv", "x,y\n", "c.csv", "x,y\n7,8\n"}, nil, []string{"1|2", "3|4", "5|6", "7|8"}},
		"one column": {[]string{"a.csv", "x\na\n\n\r\nb\n\n"}, nil, []string{"a", "", "", "b", ""}},
		"tsv":        {[]string{"a.tsv", "x\ty\n1\t2, 3\n"}, nil, []string{"1|2, 3"}},
		"no header":  {[]string{"a.csv", "1,2\n3,4\n", "b.csv", "5,6"}, func(in *Input) { in.Header = false }, []string{"1|2", "3|4", "5|6"}},
		"no quotes":  {[]string{"a.csv", "x,y\n\"1,2\"\n"}, func(in *Input) { in.Quote = "" }, []string{"\"1|2\""}},
		"lines":      {[]string{"a.txt", "one\n\n two\r\nthree\n\nfour"}, nil, []string{"one", "", " two", "three", "", "four"}},
		"ndjson":     {[]string{"a.ndjson", "{\"a\":1}\n\n{\"a\":2}"}, nil, []string{`{"a":1}`, `{"a":2}`}},
		"gzip":       {[]string{"a.csv.gz", gzipped("x,y\n1,2\n") + gzipped("3,\"4\n5\"\n"), "b.csv", "x,y\n5,6"}, nil, []string{"1|2", "3|4\n5", "5|6"}},
		"quotes":     {[]string{"a.csv", "x,y\n" + strings.Repeat("1,\"2,3\nand 4\"\n", 100)}, nil, slices.Repeat([]string{"1|2,3\nand 4"}, 100)},
	} {
		t.Run(name, func(t *testing.T) {
			from := new(memory.Driver)
			for i := 0; i < len(test.objects); i += 2 {
				from.Put("mem://"+test.objects[i], []byte(test.objects[i+1]))
			}
			for _, block := range []int64{1, 2, 3, 5, 50, 77, 1000} {
				if block < 50 && name == "quotes" {
					continue
				}
				in := Defaults()
				in.Source, in.Block = "mem://*", block
				if test.edit != nil {
					test.edit(&in)
				}
				got, totals, err := pass(t, from, in, 2)
				if err != nil || !slices.Equal(got, test.want) || totals.Records != uint64(len(test.want)) {
					t.Errorf("blocks of %d bytes: got %q, %d records, error %v, want %q", block, got, totals.Records, err, test.want)
				}
			}
		})
	}
}

// TestRoundsOfParquet reads row groups, of which each belongs to one partition.
func TestRoundsOfParquet(t *testing.T) {
	content, _ := parquetObject(t, 1000)
	from := new(memory.Driver)
	from.Put("mem://a.parquet", content)
	for _, block := range []int64{1000, 10_000, 1 << 20} {
		in := Defaults()
		in.Source, in.Block = "mem://*", block
		want, err := merged(t, collect, from, in, rand.New(rand.NewPCG(1, 1)))
		if err != nil || len(want) != 1000 {
			t.Fatal(len(want), err)
		}
		got, totals, err := pass(t, from, in, 2)
		if err != nil || !slices.Equal(got, want) || totals.Bytes != int64(len(content)) {
			t.Errorf("blocks of %d bytes: got %d records, %d bytes, error %v, want %d records", block, len(got), totals.Bytes, err, len(want))
		}
	}
}

// TestRoundsReadWhatOthersRead compares random files with what a job without rounds reads. A range that begins in the middle
// of quotes may be read wrongly, and the job then fails: it never gives other records.
func TestRoundsReadWhatOthersRead(t *testing.T) {
	refused, read := 0, 0
	for seed := range uint64(240) {
		random := rand.New(rand.NewPCG(seed, 2))
		from := new(memory.Driver)
		quotes := false
		for i := range 1 + random.IntN(3) {
			text := strings.ToValidUTF8(randomFile(random, 2), "")
			if seed%3 == 0 {
				text = strings.ReplaceAll(text, `"`, "")
			}
			quotes = quotes || strings.Contains(text, `"`)
			from.Put(fmt.Sprintf("mem://%d.csv", i), []byte(text))
		}
		in := Defaults()
		in.Source, in.Block, in.Header, in.Names = "mem://*", 1+random.Int64N(60), false, "a,b"
		if random.IntN(2) == 0 {
			in.OnError = "skip"
		}
		want, wantErr := merged(t, collect, from, in, random)
		got, _, err := pass(t, from, in, 2)
		switch {
		case wantErr != nil && err == nil, err != nil && wantErr == nil && !quotes, err == nil && !slices.Equal(got, want):
			t.Fatalf("seed %d: got %q, error %v, want %q, error %v", seed, got, err, want, wantErr)
		case err != nil && wantErr == nil:
			refused++
		case err == nil:
			read++
		}
	}
	if refused == 0 || refused > read/2 {
		t.Errorf("%d inputs were read and %d refused: want most of them read, and some refused", read, refused)
	}
	t.Logf("%d inputs read, %d refused", read, refused)
}

// TestRoundsRefuseWrongBorders reads an object whose quoted field is longer than a block, and looks like records.
func TestRoundsRefuseWrongBorders(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n1,\""+strings.Repeat("3,4\n", 100)+"\"\n5,6\n"))
	in := Defaults()
	in.Source, in.Block = "mem://*", 64
	_, _, err := pass(t, from, in, 1)
	if err == nil || !strings.Contains(err.Error(), "mem://a.csv: byte 59") || !strings.Contains(err.Error(), "give a larger block") {
		t.Errorf("got error %v, want one that names object and byte and says what to do", err)
	}
	in.Block = 1000
	if got, _, err := pass(t, from, in, 1); err != nil || len(got) != 2 {
		t.Errorf("with a larger block: got %d records, error %v, want 2", len(got), err)
	}
}

// TestRoundsSkipBadRecords counts records that a round skips once, whatever the number of rounds.
func TestRoundsSkipBadRecords(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n1,2\n3\n4,5\n6,7,8\n"))
	in := Defaults()
	in.Source, in.Block = "mem://*", 7
	if _, _, err := pass(t, from, in, 2); err == nil || !strings.Contains(err.Error(), "mem://a.csv: byte 8: \"3\" has 1 fields: want 2") {
		t.Errorf("got error %v, want one that names the object, the byte and the record", err)
	}
	in.OnError = "skip"
	got, totals, err := pass(t, from, in, 2)
	if err != nil || !slices.Equal(got, []string{"1|2", "4|5"}) || totals.Records != 2 || totals.Skipped != 2 || len(totals.Samples) != 2 {
		t.Errorf("got %q, totals %+v, error %v", got, totals, err)
	}
}

// TestRoundsOfDatasetAreChecked runs all runs of a check over a dataset with quotes.
func TestRoundsOfDatasetAreChecked(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n"+strings.Repeat("1,\"2,3\nand 4\"\n5,6\n", 100)))
	in := Defaults()
	in.Source, in.Block = "mem://*", 100
	job := jobs.MustNewRounds(defineRounds(passed(new(atomic.Int64)), func(context.Context) source.Driver { return from }))
	params, err := job.EncodeParams(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (jobs.Check{Slots: 2, Attempts: 1}).Run(t.Context(), job, params); err != nil {
		t.Error(err)
	}
}

// TestRoundsAreClosedOneByOne closes the mapper of each round, as workers do after a round, and reads a partition that no earlier
// round has read.
func TestRoundsAreClosedOneByOne(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x\n1\n2\n3\n4\n5\n6\n"))
	var read atomic.Int64
	d := defineRounds(passed(&read), func(context.Context) source.Driver { return from })
	in := Defaults()
	in.Source, in.Block = "mem://a.csv", 4
	plan, err := d.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	records := uint64(0)
	for partition := range plan.Partitions {
		m, err := r.Round(t.Context(), RoundState[[][]string]{})
		if err != nil {
			t.Fatal(err)
		}
		part, err := m.Map(t.Context(), partition)
		if err != nil {
			t.Fatal(err)
		}
		records += part.Records
		if c, ok := m.(io.Closer); ok {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if records != 6 {
		t.Errorf("%d rounds have read %d records, want 6", plan.Partitions, records)
	}
	if err := r.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	m, err := r.Round(t.Context(), RoundState[[][]string]{})
	if err != nil {
		t.Fatal(err)
	}
	if part, err := m.Map(t.Context(), 0); err == nil {
		t.Errorf("a job that is closed reads %d records without an error", part.Records)
	}
}

// TestRoundsShareNoSamples merges the partial of a partition with two others: the first merge keeps its samples, which
// are not in memory that the rows of the partition share.
func TestRoundsShareNoSamples(t *testing.T) {
	from := new(memory.Driver)
	from.Put("mem://a.csv", []byte("x,y\n1\n2\n3\n4,5\n"))
	from.Put("mem://b.csv", []byte("x,y\n6\n"))
	from.Put("mem://c.csv", []byte("x,y\n7\n"))
	in := Defaults()
	in.Source, in.Block, in.OnError = "mem://*", 15, "skip"
	d := defineRounds(passed(new(atomic.Int64)), func(context.Context) source.Driver { return from })
	plan, err := d.Plan(t.Context(), in)
	if err != nil || plan.Partitions < 2 {
		t.Fatal(plan.Partitions, err)
	}
	opened, err := d.Open(t.Context(), in, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.(io.Closer).Close() }()
	m, err := opened.Round(t.Context(), RoundState[[][]string]{})
	if err != nil {
		t.Fatal(err)
	}
	left, err := m.Map(t.Context(), 0)
	if err != nil || len(left.Samples) != 3 {
		t.Fatal(len(left.Samples), err)
	}
	merged := func(object string) RoundPartial[[]string] {
		both, err := d.Merge(left, RoundPartial[[]string]{First: Border{Object: object}, Samples: []Fault{{Object: object}}})
		if err != nil {
			t.Fatal(err)
		}
		return both
	}
	if one, two := merged("one"), merged("two"); one.Samples[3].Object != "one" || two.Samples[3].Object != "two" {
		t.Errorf("the samples of two merges are %v and %v", one.Samples, two.Samples)
	}
}
