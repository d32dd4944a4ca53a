//go:build !race

package scan

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

// These tests have many inputs. They run only without the race detector, which would make them ten times as slow.

// withoutKernel is the job scan without a kernel.
var withoutKernel = func() jobs.Job {
	general := job
	general.Bulk, general.BulkRows = nil, nil
	return jobs.MustNew(dataset.Define(general))
}()

// sameResult runs a query with and without a kernel, and fails the test if the results or the
// errors differ. sameResult reports whether the query has a result.
func sameResult(t *testing.T, name string, pairs ...string) bool {
	t.Helper()
	pairs = append(pairs, "input="+name)
	var results [2]string
	for i, job := range []jobs.Job{jobs.MustNew(Definition), withoutKernel} {
		params, err := job.Params(nil, pairs...)
		if err != nil {
			t.Fatal(err)
		}
		done, err := jobs.Local{Grant: files, Slots: 1}.Run(t.Context(), job, params)
		results[i] = fmt.Sprintf("%s %v", done.Result, err)
	}
	if results[0] != results[1] {
		t.Errorf("%q\ngot with a kernel\n%s\nand without\n%s", pairs, results[0], results[1])
	}
	return strings.HasSuffix(results[1], "<nil>")
}

// sameText calls sameResult for rows of delimited text without a header.
func sameText(t *testing.T, text string, pairs ...string) bool {
	t.Helper()
	same := sameResult(t, write(t, "m.csv", text), append(pairs, "header=false", "delimiter=;", "by=b",
		"aggregate=count,count(c),sum(c),min(c),max(c),mean(c)")...)
	if t.Failed() {
		t.Logf("%q", text)
	}
	return same
}

var (
	oddKeys   = []string{"", "a", "Oslo", "12345678", "123456789", "0123456789abcdef", "0123456789abcdefg", "0123456789abcdefh", "é", "Zürich und Umgebung", "\xff", "a\rb", "\r", "\x00", "a\x00"}
	oddValues = []string{"", "-", "+1", "1.", ".5", "-.5", ".", "-0.0", "1e3", "-1e-3", "--1", "-+1", "1234567", "12345678", "12345.67", "-123456.78", "123456789012345678", "1234567890123456789", "99999999999999999999", "1.23456789", "1.2.3", "x", "1x", " 1", "1\r", "é", "68719476736", "687194767.37"}
)

// randomRows returns rows of four columns. One of odd rows is unusual on average.
func randomRows(random *rand.Rand, count, odd int, lineEnd string) string {
	var b strings.Builder
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	for range count {
		fields := []string{"x", "Station " + strconv.Itoa(random.IntN(30)), strconv.Itoa(random.IntN(2000)-1000) + "." + strconv.Itoa(random.IntN(10)), "a longer text of the last column"}
		switch what := random.IntN(odd); {
		case what > 6:
		case what == 6:
			fields[1], fields[2] = pick(oddKeys), pick(oddValues)
		case what == 5:
			fields = fields[:random.IntN(4)]
		case what == 4:
			fields = append(fields, "5")
		case what == 3:
			fields[1] = `"` + strings.Trim(pick(oddKeys), "\r") + "\n" + `"`
		case what == 2:
			fields[1] = pick(oddKeys)
		case what == 1:
			fields[2] = pick(oddValues)
		default:
			fields[3*random.IntN(2)] = pick(append(oddKeys, oddValues...))
		}
		b.WriteString(strings.Join(fields, ";") + lineEnd)
	}
	return b.String()
}

// TestKernelAgainstFold checks that queries over random rows have the same result with and without
// a kernel.
func TestKernelAgainstFold(t *testing.T) {
	t.Parallel()
	orders := []string{"names=a,b,c,d", "names=a,c,b,d", "names=b,c,a,d", "names=c,b,a,d", "names=a,d,c,b", "names=d,a,b,c"}
	results := 0
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 1))
		text := randomRows(random, 1+random.IntN(200), []int{8, 30, 1000}[seed%3], []string{"\n", "\r\n"}[seed/3%2])
		if random.IntN(2) == 0 {
			text = strings.TrimRight(text, "\r\n")
		}
		for _, onError := range []string{"fail", "skip"} {
			if sameText(t, text, orders[random.IntN(len(orders))], "on-error="+onError, "block="+strconv.Itoa(50+random.IntN(5000))) {
				results++
			}
		}
	}
	if results < 100 {
		t.Errorf("%d of 240 queries have a result: want at least 100", results)
	}
}

// oddParquet returns an object whose columns have nulls, dictionaries of several row groups, pages without a dictionary after
// those with one, and numbers that are unusual for a kernel.
func oddParquet(t *testing.T, seed uint64) string {
	t.Helper()
	type row struct {
		Key     *string  `parquet:"key,optional,dict"`
		Plain   string   `parquet:"plain"`
		Number  int64    `parquet:"number,dict"`
		Value   *float64 `parquet:"value,optional,dict"`
		Other   *float64 `parquet:"other,optional"`
		Decimal int64    `parquet:"decimal,decimal(2:18),dict"`
		Text    string   `parquet:"text,dict"`
		Mixed   *float64 `parquet:"mixed,optional,dict"`
		Large   uint64   `parquet:"large,dict"`
		Odd     *string  `parquet:"odd,optional,dict"`
	}
	random := rand.New(rand.NewPCG(seed, 2))
	var content bytes.Buffer
	w := library.NewGenericWriter[row](&content, library.MaxRowsPerRowGroup(3000), library.PageBufferSize(2000), library.DictionaryMaxBytes(6000))
	for range 10_000 {
		key, value, other := oddKeys[random.IntN(10)], float64(random.IntN(1000))/8, random.NormFloat64()
		mixed, odd := float64(random.IntN(20_000))/1000, oddValues[random.IntN(len(oddValues)-4)]
		r := row{&key, key, int64(random.IntN(20)), &value, &other, int64(random.IntN(300)), strconv.Itoa(random.IntN(50)), &mixed, random.Uint64N(30), &odd}
		switch random.IntN(20) {
		case 0:
			r.Key = nil
		case 1:
			r.Value, r.Odd = nil, nil
		case 2:
			r.Other, r.Mixed = nil, nil
		case 3:
			value, r.Large = 1e300, math.MaxUint64
		case 4:
			mixed = float64(random.IntN(4)) * 1e11
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "m.parquet", content.String())
}

// oddQueries are the parameters of queries of oddParquet that have a kernel.
var oddQueries = func() (list [][]string) {
	for _, by := range []string{"key", "plain", "number"} {
		for _, of := range []string{"value", "other", "decimal", "text", "mixed", "large", "odd"} {
			list = append(list, []string{"by=" + by, fmt.Sprintf("aggregate=count,count(%s),sum(%[1]s),min(%[1]s),max(%[1]s),mean(%[1]s)", of), "on-error=skip"})
		}
	}
	return list
}()

// This test checks that queries of Parquet have the same result with and without a kernel.
func TestCodeKernelAgainstFold(t *testing.T) {
	t.Parallel()
	name := oddParquet(t, 1)
	for _, query := range oddQueries {
		if !sameResult(t, name, append(query, "block=5000")...) && !strings.Contains(query[1], "odd") {
			t.Errorf("%q has no result", query)
		}
	}
}

// TestStoredCodeKernel checks that the groups in partials of Parquet have the bytes of earlier programs, since version 13. A
// difference needs another version of the job.
func TestStoredCodeKernel(t *testing.T) {
	t.Parallel()
	name := oddParquet(t, 2)
	all := sha256.New()
	for _, query := range oddQueries {
		all.Write(storedGroups(t, append(query, "input="+name)...))
	}
	if got, want := fmt.Sprintf("%x", all.Sum(nil)), "ec97bca4d22b41d773c755c53177159fb015c40e58b0e0830f58b62a46786be0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// storedGroups returns the groups in the partial of the only partition of a job.
func storedGroups(t *testing.T, pairs ...string) []byte {
	t.Helper()
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := job.Plan(granted(t), params)
	if err != nil {
		t.Fatal(err)
	}
	task, err := job.Engine().Open(granted(t), params, plan.Partitions, plan.Data)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	s := task.NewStack()
	if _, err := s.Run(granted(t), jobs.Span{Lo: 0, Hi: 1}, new(atomic.Bool)); err != nil {
		t.Fatal(err)
	}
	partials, err := s.Drain(1)
	if err != nil {
		t.Fatal(err)
	}
	partial, err := Definition.Codec.Decode(partials[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	_, groups, err := partial.Readings[0].Accs[0].Split()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func FuzzKernel(f *testing.F) {
	corpus := fuzztest.Watch(f)
	f.Add("x;Oslo;1.5;y\n", uint16(40), false)
	f.Add("x;Oslo;1.5;y\r\nx;Rome;-12;y\r\n;;;\n", uint16(7), true)
	f.Add("x;Oslo;y\n", uint16(40), false)
	f.Fuzz(func(t *testing.T, text string, block uint16, first bool) {
		if len(text) > 1<<12 {
			t.Skip("too long")
		}
		names := "names=a,b,c,d"
		if first {
			names = "names=a,c,b,d"
		}
		rows := strings.Repeat("x;1;2.5;z\n", 8)
		text = rows + text + "\n" + rows + text + "\n" + rows // rows around the text make the kernel fold the text
		size := max(32, int(block))
		skipped := sameText(t, text, names, "on-error=skip", "block="+strconv.Itoa(size))
		if sameText(t, text, names, "block="+strconv.Itoa(size)) && skipped {
			corpus.Taken()
		} else {
			corpus.Refused()
		}
	})
}

// TestKernelFolds checks that the kernel folds rows of the common forms without the general code.
func TestKernelFolds(t *testing.T) {
	for _, text := range []string{"x;Oslo;1.5;y\n", "x;Oslo;-12.25;y\r\n", "x;;0;\n", "é;Zürich;123456.7;é\n", "x;a key of more than sixteen bytes;-1234567890;y\n"} {
		text = strings.Repeat(text, 100)
		k := newKernel(Params{By: "b", Aggregate: "mean(c)"}, dataset.Delimited{Columns: []string{"a", "b", "c", "d"}, Delimiter: ';'})
		t1 := new(table)
		used, rows := k.fold(t1, []byte(text))
		if left := len(text) - used; left > 3*margin || rows != uint64(used/(len(text)/100)) {
			t.Errorf("%.60q: %d rows of %d bytes are folded, of %d", text, rows, used, len(text))
		}
	}
}

// TestShort checks that short parses the same numbers as Parse.
func TestShort(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var word [8]byte
		for i := range word {
			if word[i] = '-'; i == 0 && random.IntN(2) == 0 {
				continue
			}
			word[i] = "0123456789012345678901234567890123456789.....;;-\n\x00/:\xb0é"[random.IntN(55)]
		}
		got, scale, size := short(load(word[:], 0))
		if size > 0 {
			if want, ok := exact.Parse(word[:size]); !ok || got != want.Mantissa || scale != want.Scale {
				t.Fatalf("%q: got %d, scale %d, %d bytes, want %v", word, got, scale, size, want)
			}
			continue
		}
		length := 0
		for length < 8 && (length == 0 && word[0] == '-' || strings.IndexByte("0123456789.", word[length]) >= 0) {
			length++
		}
		if _, ok := exact.Parse(word[:length]); ok && length < 8 {
			t.Fatalf("%q is not parsed", word)
		}
	}
}
