//go:build !race

package scan

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// These tests have large or many inputs. They run only without the race detector, which would make them ten
// times as slow.

// TestWork evaluates conditions that need much more time or memory than the record suggests.
func TestWork(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	list := strings.Repeat("a,", 3000)
	const steps, made = "more than 16777216 steps and 1000 for each byte", "texts and lists of more than 268435456 bytes"
	for where, want := range map[string]string{
		`len(repeat(a, 1000)) > 0`:                                                    made,
		`len(repeat(repeat(a, 100), 1000000)) > 0`:                                    made,
		`len(replace(a, "x", repeat("y", 10000))) > 0`:                                made,
		`len(replace(a, "", repeat("y", 10000))) > 0`:                                 made,
		`len(join(split(a, ""), repeat("y", 10000))) > 0`:                             made,
		`len(split(repeat(a, 20), "")) > 0`:                                           made,
		`len(reduce(1..60, #acc + #acc, "a" + b)) > 0`:                                steps,
		`len(map(1..10000, upper(a))) > 0`:                                            made,
		`len(string(reduce(1..40, [#acc, #acc], b))) > 0`:                             steps,
		`all(1..900, all(1..900, all(1..900, true))) and b > 1`:                       "memory budget exceeded",
		`all(split(b, ","), all(split(b, ","), all(split(b, ","), # != "b")))`:        steps,
		`len(uniq(map(1..30000, string(#) + b[0:1]))) > 0`:                            steps,
		`all(1..999999, len(b) > 1)`:                                                  steps,
		`a matches "(x{1,900}){1,1}y"`:                                                steps,
		`len(regexp_replace(a, "", repeat("y", 10000))) > 0`:                          made,
		`len(regexp_replace(a, "((((((((((((((((((((x))))))))))))))))))))", "")) > 0`: made,
		`like(a, repeat("%x", 5000) + "y")`:                                           steps,
		`all([a, b], # matches a)`:                                                    "want at most 1000 in a column",
		`len(upper(a) + a) == 2097152 and b matches "^a" and b matches b[0:5]`:        "",
	} {
		file := write(t, "a.csv", fmt.Sprintf("a,b\n%s,%q\n", text, list))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := scan(t, "input="+file, "where="+where, "aggregate=count")
		runtime.ReadMemStats(&after)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %.500v, want %q", where, err, want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2<<30 {
			t.Errorf("%s: got %d bytes of memory", where, used)
		}
	}
}

// TestRowBytes checks that the rows of a result are limited by their size, also while they are collected,
// and that rows that are not in the result do not count.
func TestRowBytes(t *testing.T) {
	long := appendText(nil, strings.Repeat("x", 1<<20))
	for limit, want := range map[int]overflow{0: manyBytes, 300: manyBytes, 100: noOverflow} {
		r := rows{limit: limit, order: []rowOrder{{0, false}}}
		for range 1000 {
			if r.add(long); r.bytes > 2*maxRowBytes {
				t.Fatalf("limit %d: got %d bytes in memory", limit, r.bytes)
			}
		}
		r.trim()
		if r.overflow != want || (r.err() != nil) != (want != noOverflow) {
			t.Errorf("limit %d: got %d, %v, want %d", limit, r.overflow, r.err(), want)
		}
		var read rows
		if rest, err := read.read(r.append(nil), 1); err != nil || len(rest) > 0 || read.overflow != want {
			t.Errorf("limit %d: got %d, %v after reading, want %d", limit, read.overflow, err, want)
		}
	}
}

// top fails for the same data whatever the split.
func TestTopOfManyValues(t *testing.T) {
	var content strings.Builder
	for i := range maxTopValues + 1 {
		fmt.Fprintln(&content, i)
	}
	for _, block := range []string{"60000", "100000000"} {
		query := []string{"header=false", "block=" + block, "aggregate=top(c1,2)", "input="}
		for name, want := range map[string]string{
			write(t, "a.csv", content.String()):                                "top(c1,2): a group has more than 65536 distinct values",
			write(t, "b.csv", strings.Replace(content.String(), "0\n", "", 1)): "",
		} {
			query[3] = "input=" + name
			if _, err := scan(t, query...); fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("blocks of %s bytes: got %v, want %q", block, err, want)
			}
		}
	}
}

// More groups than the hash table contains are sorted and merged like few groups.
func TestManyGroups(t *testing.T) {
	const keys = maxGroups + 1000
	var content strings.Builder
	content.WriteString("key,x\n")
	for i := range 3 * keys { // each key is in three records, with the values 0, 1 and 2
		fmt.Fprintf(&content, "%d,%d\n", i*7919%keys, i/keys)
	}
	name, folder := write(t, "m.csv", content.String()), t.TempDir()+"/out"
	for query, want := range map[string]string{
		"by=key;order=-sum(x),-key;limit=2;aggregate=count,sum(x),mean(x)": fmt.Sprintf(`[["%d",3,"3",1],["%d",3,"3",1]]`, keys-1, keys-2),
		"by=key;limit=3;aggregate=count,max(x);block=1000000":              `[["0",3,"2"],["1",3,"2"],["2",3,"2"]]`,
		"by=key;aggregate=min(x),max(x);output=" + folder:                  `[]`,
	} {
		got, err := scan(t, append(strings.Split(query, ";"), "input="+name)...)
		if err != nil || !strings.Contains(got, `"rows":`+want+`,`) {
			t.Errorf("%s: got %.300s, %v, want %s", query, got, err, want)
		}
	}
	rows, _ := rowsOf(t, folder)
	var want []string
	for i := range keys {
		want = append(want, fmt.Sprintf("%d,0,2\n", i))
	}
	if slices.Sort(want); !slices.Equal(rows, want) {
		t.Errorf("got %d rows, want the %d groups in the order of their bytes", len(rows), keys)
	}
}

// TestRefusesManyRows runs queries on an input whose first quarter has more rows than a result may have. Such a
// query fails before it has read the second half, unless it has a limit.
func TestRefusesManyRows(t *testing.T) {
	const line, lines = "1234567\n", 4 * (maxRows + 1000)
	name := write(t, "keys.csv", "k\n"+strings.Repeat(line, lines))
	const tooMany = "the result has more than 100000 rows: give the parameter limit, where or aggregate"
	for query, want := range map[string]string{
		"columns=k":                    tooMany,
		"columns=k;order=k":            tooMany,
		"columns=k;limit=200000":       tooMany,
		"columns=k;order=k;limit=3":    "",
		"columns=k;where=k == 'other'": "",
	} {
		job := jobs.MustNew(Definition)
		params, err := job.Params(nil, append(strings.Split(query, ";"), "input="+name, fmt.Sprint("block=", lines*len(line)/16))...)
		if err != nil {
			t.Fatal(err)
		}
		var done, all uint64
		_, err = jobs.Local{Grant: files, Slots: 1, Progress: func(d, a uint64) { done, all = d, a }}.Run(t.Context(), job, params)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", query, err)
		case want != "" && (err == nil || !strings.HasSuffix(err.Error(), want) || done > all/2):
			t.Errorf("%s: got %v after %d of %d partitions, want the error %q in the first half", query, err, done, all, want)
		}
	}
}
