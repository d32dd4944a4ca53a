package dataset

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
)

// TestLinesOfEveryBlockSize checks that the lines of all partitions together are the original text,
// for random texts and block sizes. Only between two objects of one partition may there be a newline
// more.
func TestLinesOfEveryBlockSize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var driver memory.Driver
		var texts []string
		for i := range 1 + random.IntN(3) {
			var text strings.Builder
			for range random.IntN(8) {
				text.WriteString(strings.Repeat("x", random.IntN(12)))
				text.WriteString(strings.Repeat("\n", random.IntN(3)))
			}
			driver.Put(fmt.Sprintf("mem://%d", i), []byte(text.String()))
			texts = append(texts, text.String())
		}
		in := Defaults()
		in.Source, in.Block = "mem://*", 1+random.Int64N(20)
		plan, err := planLines(t.Context(), in, Split{}, &driver)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := openLines(in, Split{}, plan, &driver)
		if err != nil {
			t.Fatal(err)
		}
		var got, want strings.Builder
		for partition := range plan.Partitions {
			objects, offset, _ := lines.Range(partition)
			for i, name := range objects {
				if offset > 0 {
					break // an earlier partition has begun the object
				}
				number, err := strconv.Atoi(strings.TrimPrefix(name, "mem://"))
				if err != nil {
					t.Fatal(err)
				}
				if s := want.String()[got.Len():]; i > 0 && texts[number] != "" && s != "" && !strings.HasSuffix(s, "\n") {
					want.WriteByte('\n')
				}
				want.WriteString(texts[number])
			}
			err := lines.Each(t.Context(), partition, func(data []byte) error {
				got.Write(data)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if s := got.String(); !strings.HasPrefix(want.String(), s) || len(s) < want.Len() && s != "" && !strings.HasSuffix(s, "\n") {
				t.Fatalf("partition %d ends in the midst of a line: the lines so far are %q, want the beginning of %q", partition, s, want.String())
			}
		}
		if got.String() != want.String() {
			t.Fatalf("with blocks of %d bytes the lines are %q, want %q", in.Block, got.String(), want.String())
		}
	}
}

// TestLinesBeginInTheirPartition checks that each line belongs to the partition in which the line
// begins.
func TestLinesBeginInTheirPartition(t *testing.T) {
	var driver memory.Driver
	driver.Put("mem://a", []byte("one\ntwo three four five\nsix\n"))
	in := Defaults()
	in.Source, in.Block = "mem://a", 4
	plan, err := planLines(t.Context(), in, Split{}, &driver)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := openLines(in, Split{}, plan, &driver)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for partition := range plan.Partitions {
		var text strings.Builder
		_ = lines.Each(t.Context(), partition, func(data []byte) error {
			text.Write(data)
			return nil
		})
		_, offset, length := lines.Range(partition)
		got = append(got, fmt.Sprintf("%d+%d %q", offset, length, text.String()))
	}
	want := []string{`0+4 "one\n"`, `4+4 "two three four five\n"`, `8+4 ""`, `12+4 ""`, `16+4 ""`, `20+4 ""`, `24+4 "six\n"`}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A fault in the content of an object is permanent, because the content is the same for each retry.
func TestFaultOfLines(t *testing.T) {
	var driver memory.Driver
	driver.Put("mem://a.gz", []byte("no gzip"))
	in := Defaults()
	in.Source = "mem://a.gz"
	plan, err := planLines(t.Context(), in, Split{}, &driver)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := openLines(in, Split{}, plan, &driver)
	if err != nil {
		t.Fatal(err)
	}
	if err := lines.Each(t.Context(), 0, func([]byte) error { return nil }); !jobs.IsPermanent(err) {
		t.Errorf("got %v, want a permanent error", err)
	}
}
