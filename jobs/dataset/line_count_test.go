package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// partitionsOf returns what the partitions of an input contain.
func partitionsOf(t *testing.T, driver *memory.Driver, in Input, split Split) (contents []string) {
	t.Helper()
	plan, err := planLines(t.Context(), in, split, driver)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := openLines(in, split, plan, driver)
	if err != nil {
		t.Fatal(err)
	}
	for partition := range plan.Partitions {
		var text strings.Builder
		err := lines.Each(t.Context(), partition, func(data []byte) error {
			text.Write(data)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, text.String())
	}
	return contents
}

func TestSplits(t *testing.T) {
	var driver memory.Driver
	driver.Put("mem://in/a", []byte("1\n2\n3\n4\n5\n"))
	driver.Put("mem://in/b", nil)
	driver.Put("mem://in/c", []byte("6\r\n\n\nlast"))
	driver.Put("mem://in/d.gz", []byte("stored bytes, whatever they are"))
	driver.Put("mem://empty", nil)
	long := strings.Repeat(strings.Repeat("x", 99)+"\n", 3*chunkSize/100)
	driver.Put("mem://long", []byte(long))
	in := Defaults()
	in.Block = 4
	for _, test := range []struct {
		source string
		split  Split
		want   []string
	}{
		{"mem://in/a,mem://in/b,mem://in/c", Split{Lines: 1}, []string{"1\n", "2\n", "3\n", "4\n", "5\n", "6\r\n", "\n", "\n", "last"}},
		{"mem://in/a,mem://in/b,mem://in/c", Split{Lines: 2}, []string{"1\n2\n", "3\n4\n", "5\n", "6\r\n\n", "\nlast"}},
		{"mem://in/a", Split{Lines: 5}, []string{"1\n2\n3\n4\n5\n"}},
		{"mem://empty", Split{Lines: 3}, []string{""}},
		{"mem://in/", Split{Objects: true}, []string{"1\n2\n3\n4\n5\n", "", "6\r\n\n\nlast", "stored bytes, whatever they are"}},
		{"mem://long", Split{Objects: true}, []string{long}},
		{"mem://long", Split{Lines: chunkSize / 100 * 2}, []string{long[:chunkSize/100*200], long[chunkSize/100*200:]}},
	} {
		in.Source = test.source
		if got := partitionsOf(t, &driver, in, test.split); !slices.Equal(got, test.want) {
			t.Errorf("%s, %+v: got %.300q, want %.300q", test.source, test.split, got, test.want)
		}
	}
	in.Source = "mem://in/"
	if _, err := planLines(t.Context(), in, Split{Lines: 1}, &driver); !jobs.IsPermanent(err) || !strings.Contains(err.Error(), "mem://in/d.gz is compressed") {
		t.Errorf("got %v, want a permanent error that names the compressed object", err)
	}
}

func TestTooManyPartitionsOfLines(t *testing.T) {
	c := lineCounter{n: 2, room: 2}
	if err := c.add([]byte("1\n2\n3\n4\n5\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.end(); !jobs.IsPermanent(err) || !strings.Contains(err.Error(), "want more lines") {
		t.Errorf("got %v, want a permanent error", err)
	}
}

func FuzzSizes(f *testing.F) {
	l := listing{{Name: "a", Size: 7}, {Name: "b"}, {Name: "c", Size: 300}}
	recode := func(data []byte) ([]byte, error) {
		sizes, err := decodeSizes(data, l)
		for i, o := range l[:min(len(l), len(sizes))] {
			sum := int64(0)
			for _, size := range sizes[i] {
				sum += size
			}
			if sum != o.Size {
				f.Errorf("the sizes %v of an object of %d bytes are accepted", sizes[i], o.Size)
			}
		}
		return encodeSizes(sizes), err
	}
	fuzztest.Recode(f, recode, []error{errSizes}, encodeSizes([][]int64{{3, 4}, nil, {300}}), encodeSizes([][]int64{{7}, nil, {1, 299}}))
}
