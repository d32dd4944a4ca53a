package dataset

import (
	stdcsv "encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source/memory"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// byStandardLibrary returns the rows of a CSV file, in the form that the job collect returns.
// If column is true, the file has one column, in which an empty line is an empty field.
func byStandardLibrary(text string, column bool) ([]string, error) {
	rows, err := stdcsv.NewReader(strings.NewReader(text)).ReadAll()
	if column && err == nil {
		rows, err = stdcsv.NewReader(strings.NewReader(quoteEmpty(text))).ReadAll()
	}
	var list []string
	for _, row := range rows {
		list = append(list, strings.Join(row, "|"))
	}
	return list, err
}

// quoteEmpty replaces the empty lines outside quotes by two quotes, because encoding/csv ignores empty lines.
func quoteEmpty(text string) string {
	var b strings.Builder
	quoted := false
	for line := range strings.SplitAfterSeq(text, "\n") {
		if !quoted && line != "" && strings.Trim(line, "\r\n") == "" && strings.Count(line, "\r") < 2 {
			b.WriteString(`""`)
		}
		b.WriteString(line)
		quoted = quoted != (strings.Count(line, `"`)%2 == 1)
	}
	return b.String()
}

// oneColumn reports whether the first row of the files that is not empty has one field.
func oneColumn(files []string) bool {
	for _, text := range files {
		if row, err := stdcsv.NewReader(strings.NewReader(text)).Read(); err == nil {
			return len(row) == 1
		}
	}
	return false
}

// compare reads files as one dataset and compares its rows with the rows that encoding/csv reads
// from each file. compare reports whether the files are valid.
func compare(t testing.TB, files []string, block int64, random *rand.Rand) bool {
	t.Helper()
	from := new(memory.Driver)
	var want []string
	var wantErr error
	columns, column := -1, oneColumn(files)
	for i, text := range files {
		from.Put(fmt.Sprintf("mem://%d.csv", i), []byte(text))
		rows, err := byStandardLibrary(text, column)
		if !strings.ContainsAny(text, "\n\"") && strings.Contains(strings.TrimSuffix(text, "\r"), "\r") {
			err = errCarriageReturns
		}
		if wantErr == nil {
			wantErr = err
		}
		want = append(want, rows...)
		for _, row := range rows {
			if n := strings.Count(row, "|"); columns >= 0 && n != columns && wantErr == nil {
				wantErr = stdcsv.ErrFieldCount
			} else {
				columns = n
			}
		}
	}
	in := Defaults()
	in.Source, in.Header, in.Block = "mem://*", false, block
	got, err := merged(t, collect, from, in, random)
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], "\r\n", "\n") // encoding/csv makes the same replacement in quoted fields
	}
	switch {
	case (err == nil) != (wantErr == nil):
		t.Fatalf("%q with blocks of %d bytes: got %q, %v; encoding/csv: %q, %v", files, block, got, err, want, wantErr)
	case err == nil && !slices.Equal(got, want):
		t.Fatalf("%q with blocks of %d bytes: got %q, want %q", files, block, got, want)
	}
	return err == nil
}

// randomFile returns a random CSV file with a given number of columns. Most of the files are valid.
func randomFile(random *rand.Rand, columns int) string {
	var b strings.Builder
	ends := []string{"\n", "\r\n"}
	parts := []string{"a", "bc", "é", "7", " ", ",", "\"\"", "\n", "\r\n", "\r", "", "long text of a field"}
	for range random.IntN(8) {
		if random.IntN(8) == 0 {
			b.WriteString(ends[random.IntN(2)]) // an empty line
		}
		for c := range columns {
			if c > 0 {
				b.WriteByte(',')
			}
			if random.IntN(3) == 0 {
				b.WriteByte('"')
				for range random.IntN(5) {
					b.WriteString(parts[random.IntN(len(parts))])
				}
				b.WriteByte('"')
			} else {
				for range random.IntN(3) {
					b.WriteString(parts[random.IntN(5)])
				}
			}
		}
		b.WriteString(ends[random.IntN(2)])
	}
	text := b.String()
	switch random.IntN(12) {
	case 0, 1:
		text = strings.TrimRight(text, "\r\n")
	case 2: // a damaged row
		if len(text) > 0 {
			i := random.IntN(len(text))
			text = text[:i] + []string{"\"", ",", "\n", "", "\r"}[random.IntN(5)] + text[i+random.IntN(2):]
		}
	}
	return text
}

func FuzzSplits(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "a,\"b\nc\"\r\n\n\"x\"\"y\",", "\"", "a\"b\n", "\"\n\",\"\n\"\n\"\n\",\n", "\r\n\r\na\r"} {
		f.Add(text, uint8(1), uint64(1))
		f.Add(text, uint8(5), uint64(2))
	}
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, text string, block uint8, seed uint64) {
		text = strings.NewReplacer("|", "", "\x00", "", "\xef\xbb\xbf", "").Replace(strings.ToValidUTF8(text, ""))
		if compare(t, []string{text}, 1+int64(block), rand.New(rand.NewPCG(seed, 1))) {
			corpus.Taken()
		} else {
			corpus.Refused()
		}
	})
}
