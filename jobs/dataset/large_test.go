//go:build !race

package dataset

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	zstdlib "github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	tree "github.com/bellwether-compute/bellwether/jobs/engine"
)

// These tests have large or many inputs. They run only without the race detector, which would make them ten
// times as slow.

// TestRecordLimit checks that a record that is too large fails the job, in one partition and across the
// borders of partitions.
func TestRecordLimit(t *testing.T) {
	long := strings.Repeat("x", maxRecord+1)
	for name, test := range map[string]struct{ onError, object, content string }{
		"compressed line":          {"fail", "a.txt.gz", gzipped(long)},
		"JSON":                     {"fail", "a.ndjson.gz", gzipped(`{"a":"` + long + "\"}\n")},
		"quoted field":             {"fail", "a.csv.gz", gzipped("a,b\n1,\"" + strings.Repeat(long[:1000]+"\n", maxRecord/1000) + "\"\n")},
		"partitions":               {"fail", "a.txt", long},
		"partitions, skipped rows": {"skip", "a.txt", long},
		"JSON, skipped rows":       {"skip", "a.ndjson.gz", gzipped(`{"a":"` + long + "\"}\n")},
	} {
		_, err := rows(t, func(in *Input) { in.Block, in.OnError = 24<<20, test.onError }, test.object, test.content)
		if err == nil || !strings.Contains(err.Error(), "more than 67108864 bytes") {
			t.Errorf("%s: got %.300v, want the limit of records", name, err)
		}
	}
}

func TestColumnLimit(t *testing.T) {
	for _, test := range []struct {
		columns int
		want    string
	}{{maxColumns, ""}, {maxColumns + 1, "mem://a.csv: byte 0: there are 100001 columns: want at most 100000"}} {
		var header strings.Builder
		for i := range test.columns {
			fmt.Fprintf(&header, "c%d,", i)
		}
		text := strings.TrimSuffix(header.String(), ",") + "\n" + strings.Repeat("1,", test.columns-1) + "1\n"
		got, err := rows(t, nil, "a.csv", text)
		if test.want == "" && (err != nil || len(got) != 1) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d columns: got %d rows, %v, want %q", test.columns, len(got), err, test.want)
		}
	}
}

// TestLongLists checks that an error does not contain all names of a long list.
func TestLongLists(t *testing.T) {
	header := strings.TrimSuffix(strings.Repeat("column,", 50_000), ",")
	_, err := rows(t, nil, "a.csv", "a,b\n1,2\n", "b.csv", header+"\n")
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "49980 more") {
		t.Errorf("got %.2000v, want an error with the first names", err)
	}
}

// TestManyEmptyLines reads an object whose first record is after a million empty lines, at each of which the
// time must not depend on the rest.
func TestManyEmptyLines(t *testing.T) {
	got, err := rows(t, func(in *Input) { in.Header = false }, "a.csv", strings.Repeat("\n", 1<<20)+"1,2\n")
	if err != nil || len(got) != 1 || got[0] != "1|2" {
		t.Errorf("got %q, %v, want one row", got, err)
	}
}

// TestExpansion reads small objects of zstd: one with a window that needs too much memory, and one whose
// content is much larger than the object.
func TestExpansion(t *testing.T) {
	// The frame has a window of 256 MiB, and one block of a byte that is repeated.
	window := "\x28\xb5\x2f\xfd\x00" + "\x90" + "\x0b\x00\x00x"
	_, err := rows(t, nil, "a.txt.zst", window)
	if err == nil || !strings.Contains(err.Error(), "window of zstd is larger than 134217728 bytes") {
		t.Errorf("got %v, want the limit of windows", err)
	}
	var bomb bytes.Buffer
	w, err := zstdlib.NewWriter(&bomb)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for range 1400 {
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	from := new(memory.Driver)
	from.Put("mem://a.txt.zst", bomb.Bytes())
	l, err := list(t.Context(), from, Input{Source: "mem://a.txt.zst"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := l[0]
	c, err := newReader(from).content(t.Context(), o, 0, o.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for err == nil {
		_, err = c.fill(block)
	}
	if !strings.Contains(err.Error(), "more than 1073741824 bytes and 2000 times the compressed size") {
		t.Errorf("got %v after %d bytes of an object of %d bytes, want the limit", err, c.at, o.Size)
	}
}

var pairs = flag.Int("dataset.pairs", 1_000, "number of pairs of a file and a block size to compare with encoding/csv")

// TestPairs checks that random pairs of a file and a block size give the same rows as encoding/csv.
// The flag -dataset.pairs gives the number of pairs.
func TestPairs(t *testing.T) {
	valid := 0
	for seed := range *pairs {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		columns := 1 + random.IntN(3)
		var files []string
		for range 1 + random.IntN(3) {
			files = append(files, strings.ToValidUTF8(randomFile(random, columns), ""))
		}
		if compare(t, files, 1+random.Int64N(40), random) {
			valid++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if valid < *pairs/2 || valid == *pairs {
		t.Errorf("%d of %d inputs are valid: want more than half, and some that are not", valid, *pairs)
	}
	t.Logf("%d pairs, %d of them valid", *pairs, valid)
}

// TestKeysIdentifyPartials adds, removes and changes objects at random. Nodes with the same key must have the
// same bytes, wherever they are in the dataset.
func TestKeysIdentifyPartials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		from, all := new(memory.Driver), map[tree.Key][]byte{}
		in := Defaults()
		in.Source, in.Block = "mem://*", int64(1+random.IntN(40))
		put := func() {
			text := "a,b\n"
			for range random.IntN(12) {
				text += strings.Repeat("x", random.IntN(5)) + []string{`,1`, `,"q,r"`, `,"line` + "\n" + `end"`}[random.IntN(3)] + "\n"
			}
			from.Put(fmt.Sprintf("mem://%02d.csv", random.IntN(20)), []byte(text))
		}
		put()
		for range 5 {
			if put(); random.IntN(3) == 0 {
				_ = from.Remove(t.Context(), fmt.Sprintf("mem://%02d.csv", random.IntN(20)))
				put()
			}
			addKeys(t.Context(), t, all, from, in)
		}
	})
}

// TestAvroAtEverySplit cuts objects at each byte, and merges the partials in any order.
func TestAvroAtEverySplit(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard"} {
		object, want := capture(codec, 5, 14)
		d := &memory.Driver{}
		d.Put("mem://a.avro", object)
		d.Put("mem://b.avro", nil)
		d.Put("mem://c.avro", object)
		want = slices.Concat(want, want)
		random := rand.New(rand.NewPCG(1, 3))
		step := int64(1)
		if codec != "null" {
			step = 13
		}
		for block := int64(1); block < int64(len(object))+20; block += step {
			in := Defaults()
			in.Source, in.Block = "mem://*.avro", block
			got, err := merged(t, fieldsJob(captureColumns...), d, in, random)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, blocks of %d bytes: got %d records, %v, want %d", codec, block, len(got), err, len(want))
			}
		}
	}
}

// TestBgzipAtEverySplit compares the records of objects of bgzip, cut in blocks of each size, with those of the same text.
func TestBgzipAtEverySplit(t *testing.T) {
	for seed := range uint64(15) {
		random := rand.New(rand.NewPCG(seed, 0))
		text := randomFile(random, 1+random.IntN(3))
		from := new(memory.Driver)
		from.Put("mem://a.csv", []byte(text))
		in := Defaults()
		in.Source, in.Header = "mem://a.csv", false
		want, wantErr := merged(t, collect, from, in, random)
		stored := bgzipped(random, text, 1+random.IntN(30))
		from.Put("mem://a.csv.gz", []byte(stored))
		in.Source = "mem://a.csv.gz"
		for block := int64(1); block <= int64(len(stored)); block += 1 + block/8 {
			in.Block = block
			got, err := merged(t, collect, from, in, random)
			if (err == nil) != (wantErr == nil) || !slices.Equal(got, want) {
				t.Fatalf("seed %d, blocks of %d bytes: got %q, %v, want %q, %v", seed, block, got, err, want, wantErr)
			}
		}
	}
}

// randomDialect returns a random object whose fields are written in a dialect, and its records in the form of the job marked.
func randomDialect(random *rand.Rand) (text string, want []string) {
	var b strings.Builder
	plain := []string{"a", "bc d", "é", "7", "12.5", "", "#", "a long text of a field"}
	quotes := []string{"a,b", "\n", "# \n", " NA ", "\"", "- "}
	pad := func() string { return []string{"", "", " ", "\t", "  "}[random.IntN(5)] }
	for range random.IntN(12) {
		switch random.IntN(6) {
		case 0:
			b.WriteString([]string{"#\n", "# a, b\r\n", "#\"NA\"\n", "##\n", "\n"}[random.IntN(5)])
		case 1:
			b.WriteString(pad() + "\n")
		}
		var fields []string
		for c := range 3 {
			field := plain[random.IntN(len(plain))]
			written := field
			switch random.IntN(6) {
			case 0:
				field, written = "null", []string{"NA", "\"NA\"", "-"}[random.IntN(3)]
			case 1:
				field = quotes[random.IntN(len(quotes))]
				written = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
			}
			if fields = append(fields, field); c > 0 {
				b.WriteByte(',')
			} else if strings.HasPrefix(written, "#") {
				written = `"` + written + `"`
			}
			b.WriteString(pad() + written + pad())
		}
		want = append(want, strings.Join(fields, "|"))
		b.WriteString([]string{"\n", "\r\n"}[random.IntN(2)])
	}
	text = b.String()
	if random.IntN(3) == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	}
	return text, want
}

// TestDialectAtEverySplit reads random objects in blocks of random sizes. The records must be those that were written,
// with quotes that change the reading of ranges, and also in a job with rounds unless it refuses the borders.
func TestDialectAtEverySplit(t *testing.T) {
	read := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 3))
		from := new(memory.Driver)
		var all []string
		header := seed%3 == 0
		for i := range 1 + random.IntN(3) {
			text, want := randomDialect(random)
			if header {
				text = []string{"", "# comment\n"}[random.IntN(2)] + " a, b ,c\n" + text
			}
			from.Put(fmt.Sprintf("mem://%d.csv", i), []byte(text))
			all = append(all, want...)
		}
		in := Defaults()
		in.Source, in.Names, in.Header, in.Comment, in.Null, in.Trim = "mem://*", "", header, "#", "NA,-", true
		in.Block = 38 + random.Int64N(60)
		if !header {
			in.Names, in.Block = "a,b,c", 1+random.Int64N(60)
		}
		got, err := merged(t, marked, from, in, random)
		if err != nil || !slices.Equal(got, all) {
			t.Fatalf("seed %d, blocks of %d bytes: got\n%q, %v, want\n%q", seed, in.Block, got, err, all)
		}
		records, _, err := pass(t, from, in, 2)
		if err != nil && !strings.Contains(err.Error(), errBorder.Error()) && !strings.Contains(err.Error(), "quote") {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err == nil {
			read++
			for i, want := range all {
				if records[i] != strings.ReplaceAll(want, "null", "") {
					t.Fatalf("seed %d, record %d of a job with rounds: got %q, want %q", seed, i, records[i], want)
				}
			}
		}
	}
	if read < 100 {
		t.Errorf("jobs with rounds read %d of 300 inputs: want at least 100", read)
	}
}

// TestParquetInBlocksOfAByte checks that each row group is read once, by the partition of its first byte.
func TestParquetInBlocksOfAByte(t *testing.T) {
	content, want := parquetObject(t, 105)
	for i, fields := range want {
		want[i], _, _ = strings.Cut(fields, "|")
	}
	d := &memory.Driver{}
	d.Put("mem://a.parquet", content)
	in := Defaults()
	in.Source, in.Block = "mem://a.parquet", 1
	if got := runFields(t, jobs.MustNew(defineOn(fieldsJob("id"), d)), in); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNotationOfRandomNumbers reads random numbers in a random notation.
func TestNotationOfRandomNumbers(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 4))
		notation := []struct{ decimal, thousands string }{{",", "."}, {".", ","}, {",", ""}, {"", "'"}, {",", "\u00a0"}}[random.IntN(5)]
		var text strings.Builder
		var want []string
		for range 1 + random.IntN(30) {
			whole, fraction := strconv.Itoa(random.IntN(1<<random.IntN(40))), ""
			if random.IntN(2) == 0 {
				fraction = strconv.Itoa(random.IntN(1000))
			}
			number, written := whole, whole
			if notation.thousands != "" && random.IntN(3) > 0 {
				for at := len(written) - 3; at > 0; at -= 3 {
					written = written[:at] + notation.thousands + written[at:]
				}
			}
			if fraction != "" {
				decimal := notation.decimal
				if decimal == "" {
					decimal = "."
				}
				number, written = number+"."+fraction, written+decimal+fraction
			}
			sign := []string{"", "-", "+"}[random.IntN(3)]
			text.WriteString(sign + written + ";")
			want = append(want, sign+number)
			if random.IntN(3) == 0 {
				written = `"` + written + `"`
			}
			text.WriteString(written + "\n")
			want = append(want, number)
		}
		from := new(memory.Driver)
		from.Put("mem://a.csv", []byte(text.String()))
		in := Defaults()
		in.Source, in.Header, in.Names, in.Delimiter, in.Decimal, in.Thousands = "mem://*", false, "x,y", ";", notation.decimal, notation.thousands
		in.Block = 1 + random.Int64N(100)
		got, err := merged(t, numbers, from, in, random)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d, %+v: got\n%q, %v, want\n%q", seed, notation, got, err, want)
		}
		records, _, err := pass(t, from, in, 2)
		if all := strings.Split(strings.Join(records, "|"), "|"); err == nil && !slices.Equal(all, want) {
			t.Fatalf("seed %d, a job with rounds: got\n%q, want\n%q", seed, all, want)
		}
	}
}
