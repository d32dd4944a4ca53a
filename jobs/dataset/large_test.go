//go:build !race

package dataset

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	zstdlib "github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

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
