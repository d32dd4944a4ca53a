package scan

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/expr-lang/expr/ast"
	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files allows jobs to use all files.
var files = jobs.Grant{Files: []string{"/"}}

// write writes a file and returns its name.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// scan runs the job and returns its result as JSON.
func scan(t testing.TB, pairs ...string) (string, error) {
	t.Helper()
	job := jobs.MustNew(Definition)
	params, err := job.Params(nil, pairs...)
	if err != nil {
		return "", err
	}
	done, err := jobs.Local{Grant: files, Slots: 2}.Run(t.Context(), job, params)
	return string(done.Result), err
}

const trips = "vendor,fare,city\nA,10.50,Oslo\nB,3,\"Lima, Peru\"\nA,,Oslo\nB,100.25,Rome\nA,7.125,Rome\nC,x,Oslo\n"

func TestQueries(t *testing.T) {
	name := write(t, "trips.csv", trips)
	for query, want := range map[string]string{
		"aggregate=count":                        `[[6]]`,
		"aggregate=count;where=city == 'nobody'": `[[0]]`,
		"by=city;aggregate=count":                `[["Lima, Peru",1],["Oslo",3],["Rome",2]]`,
		"by=vendor;aggregate=count,count(fare),sum(fare),min(fare),max(fare),mean(fare);where=vendor != 'C'": `[["A",3,2,"17.625","7.125","10.5",8.8125],["B",2,2,"103.25","3","100.25",51.625]]`,
		"by=vendor,city;aggregate=count;order=-count,vendor;limit=2":                                         `[["A","Oslo",2],["A","Rome",1]]`,
		"aggregate=exact_distinct(city),exact_distinct(fare)":                                                `[[3,5]]`,
		"aggregate=min(city),max(city),distinct(city)":                                                       `[["Lima, Peru","Rome",3]]`,
		"aggregate=var(fare),stddev(fare);where=city == 'Rome'":                                              `[[4336.1328125,65.84931899799724]]`,
		"aggregate=var(fare),mean(fare),sum(fare),min(fare),p50(fare);where=city == 'nobody'":                `[[null,null,null,null,null]]`,
		"aggregate=top(city,2),top(vendor, 9);where=vendor != 'C'":                                           `[["[[\"Oslo\",2],[\"Rome\",2]]","[[\"A\",3],[\"B\",2]]"]]`,
		"columns=city,fare;where=vendor == 'B'":                                                              `[["Lima, Peru","3"],["Rome","100.25"]]`,
		"where=vendor == 'B'":                                                                                `[["B","3","Lima, Peru"],["B","100.25","Rome"]]`,
		"columns=fare;order=-fare;limit=3":                                                                   `[["x"],["100.25"],["10.50"]]`,
		"columns=fare;order=fare":                                                                            `[[""],["3"],["7.125"],["10.50"],["100.25"],["x"]]`,
		"columns=vendor;limit=2":                                                                             `[["A"],["B"]]`,
		"aggregate=count;where=vendor != 'C' and fare > 7.125":                                               `[[2]]`,
		"aggregate=count;where=vendor != 'C' and not (fare >= 7.125)":                                        `[[2]]`,
		"aggregate=count;where=vendor != 'C' and 7.125 <= fare":                                              `[[3]]`,
		"aggregate=count;where=vendor == 'C' or fare * 2 == 6":                                               `[[2]]`,
		"aggregate=count;where=city contains 'm' and len(vendor) == 1":                                       `[[3]]`,
		"aggregate=count;where=vendor in ['B', 'C']":                                                         `[[3]]`,
		"aggregate=count;where=vendor in ['B', 'C'] and (city startsWith 'O' or city endsWith 'u')":          `[[2]]`,
		"aggregate=p0(fare),median(fare),p100(fare);where=vendor != 'C'":                                     `[[3,7.125,100.25]]`,
	} {
		for _, block := range []string{"1", "7", "1000"} {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+name, "block="+block)...)
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			var result struct {
				Rows     json.RawMessage `json:"rows"`
				RowsRead int             `json:"rows_read"`
				Bytes    int             `json:"bytes_read"`
			}
			if err := json.Unmarshal([]byte(got), &result); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(query, "p0(") {
				result.Rows = rounded(t, result.Rows)
			}
			if string(result.Rows) != want || result.RowsRead != 6 || result.Bytes != len(trips) {
				t.Errorf("%s, blocks of %s bytes: got %s, %d rows, %d bytes, want %s, 6 rows, %d bytes", query, block, result.Rows, result.RowsRead, result.Bytes, want, len(trips))
			}
		}
	}
}

// rounded rounds the floats of rows to four digits.
func rounded(t *testing.T, rows json.RawMessage) json.RawMessage {
	var values [][]float64
	if err := json.Unmarshal(rows, &values); err != nil {
		t.Fatal(err)
	}
	for _, r := range values {
		for i := range r {
			r[i] = math.Round(r[i]*1e4) / 1e4
		}
	}
	data, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFastConditions(t *testing.T) {
	for source, fast := range map[string]bool{
		"fare > -20.5 and city != 'Rome' or not (fare <= 3)": true,
		"city in ['Rome', 'Oslo'] and city startsWith 'O'":   true,
		"city contains 'a' && city endsWith 'b'":             true,
		"city in [1, 2]":                                     false,
		"fare * 2 > 7":                                       false,
		"len(city) == 1 and fare > 7":                        false,
	} {
		c, err := parseCondition(source)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := compileFast(c.tree, func(string) int { return 0 }, func(ast.Node) test { return nil }); got != fast {
			t.Errorf("%s: got fast code %v, want %v", source, got, fast)
		}
	}
}

// A clause that is always true, or never, changes nothing.
func TestClausesOfConditions(t *testing.T) {
	name := write(t, "a.csv", "x,host,note\n,h,n\n5,h,\n7,h,\n")
	for where, want := range map[string]string{
		"x != 5":                          "[[1]]",
		"x != 5 and len(host) > 0":        "[[1]]",
		"x > 6 or note != ''":             "[[2]]",
		"x * 1 > 6 or note != ''":         "[[2]]",
		"not (x * 1 > 6) and host != ''":  "[[2]]",
		"x * 1 > 6 and x startsWith '7'":  "[[1]]",
		"x > 4 and (len(x) == 1 or 1==1)": "[[2]]",
	} {
		if got, err := scan(t, "input="+name, "aggregate=count", "where="+where); err != nil || !strings.Contains(got, `"rows":`+want) {
			t.Errorf("%s: got %s, %v, want %s", where, got, err, want)
		}
	}
}

func TestColumnsOfTheResult(t *testing.T) {
	got, err := scan(t, "input="+write(t, "trips.csv", trips), "by=vendor", "aggregate=count,min(fare),max(city),mean(fare),distinct(city)", "where=vendor != 'C'")
	want := `{"columns":[{"name":"vendor","type":"text"},{"name":"count","type":"integer"},{"name":"min(fare)","type":"decimal"},{"name":"max(city)","type":"text"},{"name":"mean(fare)","type":"float"},{"name":"distinct(city)","type":"integer","note":"exact"}]`
	if err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestErrors(t *testing.T) {
	name := write(t, "trips.csv", trips)
	for query, want := range map[string]string{
		"aggregate=average(fare)":                             "want count",
		"aggregate=sum":                                       "want a column, such as sum(x)",
		"aggregate=sum()":                                     "want a column in parentheses",
		"aggregate=p101(fare)":                                "want count",
		"aggregate=p1_0(fare)":                                "want count",
		"aggregate=p0x1p3(fare)":                              "want count",
		"aggregate=p1e1(fare)":                                "want count",
		"aggregate=p-0(fare)":                                 "want count",
		"aggregate=p(fare)":                                   "want count",
		"by=city":                                             "want the parameter aggregate too",
		"aggregate=count;columns=city":                        "exclude each other",
		"aggregate=count;order=city":                          "the columns are count",
		"columns=city;order=nothing":                          `there is no column "nothing"`,
		"aggregate=count;where=status >":                      "parameter where",
		"aggregate=count;where=1 == 1":                        "has no column",
		"aggregate=count;where=status >= 500":                 "the columns are vendor, fare, city",
		"where=status >= 500":                                 "the columns are vendor, fare, city",
		"by=town;aggregate=count":                             "the columns are vendor, fare, city",
		"aggregate=sum(fare)":                                 "trips.csv: byte 82: column \"fare\" is \"x\": want a number",
		"aggregate=min(fare)":                                 "trips.csv: byte 82: column \"fare\" has numbers, such as 3, and other text, such as \"x\" here",
		"aggregate=count;where=fare > 3":                      "byte 82: column \"fare\" is \"x\": want a number",
		"aggregate=count;where=fare * 2 > 3":                  "byte 82: parameter where",
		"aggregate=count;where=now().Year() > 3 and fare > 3": "the function now is not allowed here",
		"aggregate=count;where=keys({'a': fare})[0] == 'a'":   "the function keys is not allowed here",
		"by=city;aggregate=count;having=sum(fare) > 3":        `parameter having: there is no column "fare": the columns are city, count; an aggregate must also be in the parameter aggregate`,
		"by=city;aggregate=sum(fare);having=(count)>1":        `parameter having: there is no column "count": the columns are city, sum(fare); an aggregate`,
		"by=city;aggregate=count;having=count(fare) > 3":      "parameter having:",
		"by=city;aggregate=count;having=count":                "want true or false",
		"by=city;aggregate=count;having=count = 3":            `write "count == 3"`,
		"by=city;aggregate=count;having=city > 3":             `parameter having: city is "Lima, Peru": want a number, in the row Lima, Peru, 1`,
		"by=city;aggregate=count;having=city > count":         `parameter having: city is "Lima, Peru" and count is "1": want two numbers`,
		"columns=city;having=fare > 3":                        "parameter having: want the parameter aggregate too",
		"aggregate=count;offset=1":                            "parameter offset: want the parameter by too",
		"offset=100001":                                       "want a sum of at most 100000",
		"offset=1;limit=18446744073709551615":                 "want a sum of at most 100000",
		"output=/nowhere;offset=1":                            "with output and without aggregate want the parameter limit too",
		"output=/nowhere;order=-fare":                         "want a limit of at most 100000",
		"output=/nowhere;limit=100001":                        "want a limit of at most 100000",
		"aggregate=count;where=city == true":                  `such as city == "true"`,
		"aggregate=count;where=city != nil":                   `such as city != ""`,
		"aggregate=count;where=city":                          "want true or false",
		"format=ndjson;where=a == 1":                          "parameter columns",
		"input=https://h/a?sig=x":                             "secret",
		"aggregate=count;input=" + name + "/missing.csv":      "missing.csv",
	} {
		pairs := append([]string{"input=" + name}, strings.Split(query, ";")...)
		if got, err := scan(t, pairs...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v, want %q", query, got, err, want)
		}
	}
}

func TestSkippedRows(t *testing.T) {
	got, err := scan(t, "input="+write(t, "trips.csv", trips), "aggregate=count,sum(fare)", "on-error=skip")
	want := `"rows":[[5,"120.875"]],"rows_read":5,"bytes_read":91,"rows_skipped":1,"skipped":[{"object":`
	if err != nil || !strings.Contains(got, want) || !strings.Contains(got, `"offset":82`) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestTooManyRows(t *testing.T) {
	name := write(t, "a.txt", strings.Repeat("x\n", maxRows+1))
	for _, order := range []string{"", "line"} {
		if _, err := scan(t, "input="+name, "order="+order, "block=50_000"); err == nil || !strings.Contains(err.Error(), "give the parameter limit") {
			t.Errorf("got %v, want an error", err)
		}
	}
	if got, err := scan(t, "input="+name, "limit=1", "where=line == 'x'"); err != nil || !strings.Contains(got, `"rows":[["x"]]`) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestJSONLines(t *testing.T) {
	name := write(t, "a.ndjson", `{"host":"a","status":200}`+"\n"+`{"host":"b","status":503,"user":"u\"1"}`+"\n"+`{"status":500,"host":null}`+"\n")
	got, err := scan(t, "input="+name, "where=status >= 500", "by=host", "aggregate=count,distinct(user)")
	if err != nil || !strings.Contains(got, `"rows":[["",1,0],["b",1,1]]`) {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestSameForEveryBlock checks that the result is correct and has the same bytes for every block
// size.
func TestSameForEveryBlock(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("key,value\n")
	sums, values := map[string]*exact.Sum{}, map[string][]float64{}
	for range 3000 {
		key := fmt.Sprintf("k%d", random.IntN(20))
		value := strconv.FormatFloat(random.NormFloat64()*1000, 'f', random.IntN(5), 64)
		fmt.Fprintf(&b, "\"%s\",%s\n", key, value)
		n, _ := exact.Parse([]byte(value))
		if sums[key] == nil {
			sums[key] = new(exact.Sum)
		}
		sums[key].Add(&n)
		values[key] = append(values[key], n.Float())
	}
	name := write(t, "a.csv", b.String())
	var first string
	for _, block := range []string{"1_000_000", "1000", "97"} {
		got, err := scan(t, "input="+name, "block="+block, "by=key",
			"aggregate=sum(value),mean(value),stddev(value),min(value),max(value),distinct(value),p50(value),p99.9(value)")
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("blocks of %s bytes: got %s, want %s", block, got, first)
		}
	}
	var result struct {
		Rows [][]any `json:"rows"`
	}
	if err := json.Unmarshal([]byte(first), &result); err != nil {
		t.Fatal(err)
	}
	for _, row := range result.Rows {
		key := row[0].(string)
		if want := sums[key].Number().String(); row[1] != want {
			t.Errorf("%s: the sum is %v, want %v", key, row[1], want)
		}
		sort.Float64s(values[key])
		n := len(values[key])
		for i, q := range map[int]float64{7: 0.5, 8: 0.999} {
			want := values[key][int(math.Ceil(q*float64(n)))-1]
			if got := row[i].(float64); math.Abs(got-want) > 0.004*math.Abs(want) {
				t.Errorf("%s: quantile %v is %v, want %v", key, q, got, want)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	name := write(t, "trips.csv", strings.TrimSuffix(trips, "C,x,Oslo\n")+strings.Repeat("A,1.5,Oslo\nD,2,\"a\nb\"\n", 50))
	job := jobs.MustNew(Definition)
	for _, query := range []string{
		"by=vendor;aggregate=count,sum(fare),min(city),max(fare),mean(fare),stddev(fare),distinct(city),p90(fare);block=100",
		"columns=city,fare;order=-fare;limit=5;block=50",
		"where=vendor == 'D';block=50",
		"let=twice = 2 * fare;by=city;aggregate=sum(twice);having=sum(twice) > 10;offset=1;block=50",
	} {
		params, err := job.Params(nil, append(strings.Split(query, ";"), "input="+name)...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (jobs.Check{Grant: files, Attempts: 1}).Run(t.Context(), job, params); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func FuzzTable(f *testing.F) {
	listed := &table{columns: []string{"x"}, functions: []aggregate{{function: functionOf(0)}}}
	listed.rows = rows{limit: 3, order: []rowOrder{{0, true}}, list: []row{appendText(nil, "x"), appendText(nil, "a")}}
	var seeds [][]byte
	streamed := &table{columns: []string{"x"}}
	streamed.out = pending{parts: []part{{[]row{appendText(nil, "a")}, output.Part{Name: "b", Rows: 1, Bytes: 2, SHA256: "c"}}}, rows: []row{appendText(nil, "d")}}
	for _, t := range []*table{listed, streamed, {}} {
		data, err := t.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		seeds = append(seeds, data)
	}
	seeds = append(seeds, []byte("\x00\x01\x01x\x00\x01\x02\x00\x02\x02\x01a\x02\x01b\x00\x00")) // sorted by a column that the rows do not have
	recode := func(data []byte) ([]byte, error) {
		var t table
		if err := t.UnmarshalBinary(data); err != nil {
			return nil, fmt.Errorf("%w: %w", errStates, err)
		}
		return t.MarshalBinary()
	}
	fuzztest.Recode(f, recode, []error{errStates}, seeds...)
}

func FuzzRun(f *testing.F) {
	all, err := parseAggregates("count,sum(x),min(x),max(x),mean(x),var(x),distinct(x),p50(x),top(x,3),exact_distinct(x)")
	if err != nil {
		f.Fatal(err)
	}
	full := new(table)
	full.bind(all, make([]int, len(all)))
	full.group([]byte("a"))
	full.group(nil)
	full.states[2].(*extremes).list[1] = extreme{hasText: true, text: "b", object: "c.csv", offset: 300}
	_, seed, err := full.Split()
	if err != nil {
		f.Fatal(err)
	}
	recode := func(data []byte) (again []byte, err error) {
		s, c := newScratch(all), cursor{rest: data}
		for err = c.next(); err == nil && !c.done(); err = c.next() {
			s.reset()
			if err := s.read(c.states); err != nil {
				return nil, fmt.Errorf("%w: %w", errStates, err)
			}
			again = s.appendGroup(again, c.key, s.states, 0)
		}
		return again, err
	}
	fuzztest.Recode(f, recode, []error{errStates}, seed)
}

func TestEmptyObject(t *testing.T) {
	if _, err := scan(t, "input="+write(t, "a.csv", ""), "aggregate=mean(x)"); err == nil || !strings.Contains(err.Error(), `there is no column "x", because all objects are empty`) {
		t.Errorf("got %v", err)
	}
}

// The note of a column says whether its results are exact.
func TestNotes(t *testing.T) {
	for count, want := range map[int]string{maxExactValues: exactNote, maxExactValues + 1: quantileNote} {
		name := write(t, "a.csv", "x\n"+strings.Repeat("7.77\n", count))
		for _, block := range []string{"1000", "1000000"} {
			if got, err := scan(t, "input="+name, "aggregate=p50(x)", "block="+block); err != nil || !strings.Contains(got, `"note":"`+want+`"`) || strings.Contains(got, `"rows":[[7.77]]`) != (want == exactNote) {
				t.Errorf("%d values, blocks of %s bytes: got %s, %v, want the note %q", count, block, got, err, want)
			}
		}
	}
}

// Numbers above all floats have infinite means, variances and quantiles.
func TestInfinities(t *testing.T) {
	name := write(t, "a.csv", "x\n"+strings.Repeat("9", 400)+"\n"+strings.Repeat("9", 400)+"\n1\n")
	got, err := scan(t, "input="+name, "aggregate=mean(x),var(x),p90(x),p10(x)")
	if err != nil || !strings.Contains(got, `"rows":[["+Inf","+Inf","+Inf",1`) {
		t.Errorf("got %.300s, %v", got, err)
	}
}

// Comparisons in where treat infinities and NaN as float64 values, but other texts remain bad.
func TestConditionsOnInfinities(t *testing.T) {
	name := write(t, "a.csv", "x\n1\n+Inf\n-inf\nNaN\n\"\"\n")
	for where, want := range map[string]string{
		"x > -1e308":         "2",
		"x < 1e308":          "2",
		"x >= 1":             "2",
		"x <= 1":             "2",
		"x == 1":             "1",
		"x != 1":             "3",
		"1 > x":              "1",
		"1 < x":              "1",
		"not (x > 1)":        "4",
		"x * 2 > 2":          "1",
		"x * 2 != 2":         "3",
		"x in ['NaN', '1']":  "2",
		"x > 0 and x < 1000": "1",
	} {
		got, err := scan(t, "input="+name, "aggregate=count", "where="+where)
		if err != nil || !strings.Contains(got, `"rows":[[`+want+`]]`) {
			t.Errorf("%s: got %s, %v, want %s", where, got, err, want)
		}
	}
	name = write(t, "b.csv", "x\n1\ninfo\n")
	if got, err := scan(t, "input="+name, "aggregate=count", "where=x > 0"); err == nil || !strings.Contains(err.Error(), `b.csv: byte 4: column "x" is "info": want a number`) {
		t.Errorf("got %s, %v, want an error with the text", got, err)
	}
}

// The error for numbers and texts in one column describes the same text for every block size.
func TestPositionOfMixedText(t *testing.T) {
	name := write(t, "a.csv", "x\n1\n22\n333\nzoo\n7\nape\napes\nape\n8\n9\n")
	for function, want := range map[string]string{
		"min": `a.csv: byte 17: column "x" has numbers, such as 1, and other text, such as "ape" here`,
		"max": `a.csv: byte 11: column "x" has numbers, such as 333, and other text, such as "zoo" here`,
	} {
		for _, block := range []string{"2", "5", "12", "1000"} {
			if got, err := scan(t, "input="+name, "aggregate="+function+"(x)", "block="+block); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, block %s: got %s, %v, want %s", function, block, got, err, want)
			}
		}
	}
}

// The error for numbers and texts in one column shows the number as results do, also if the group has a wider scale.
func TestNumberBesideMixedText(t *testing.T) {
	name := write(t, "a.csv", "g,x\na,3.0\na,ape\na,4.125\n")
	if got, err := scan(t, "input="+name, "by=g", "aggregate=min(x)"); err == nil || !strings.Contains(err.Error(), "has numbers, such as 3, and") {
		t.Errorf("got %s, %v, want an error with the number 3", got, err)
	}
}

// A prefix of a cell contradicts no comparison of cells.
func TestPrefix(t *testing.T) {
	texts := []string{"", "0", "-0", "-1", "1.5", "1.50", "-1.25", "1e3", "1000", "4503599627370497", "4503599627370496", "1e40", "a", "a\x00", "ab", "abcdefg", "abcdefgh", "abcdefgi", "é", "\xff"}
	floats := []cell{null, float(0), float(-1.5), float(1.5), float(1e300), float(math.Inf(-1))}
	integers := []cell{integer(0), integer(7), integer(1 << 53), integer(1<<53 + 1), integer(math.MaxUint64)}
	decimals := []cell{null}
	for _, s := range texts {
		if n, ok := exact.Parse([]byte(s)); ok {
			decimals = append(decimals, decimal(n))
		}
	}
	check := func(a, b cell, x, y uint64, order int) {
		if got := comparePrefixes(x, y); got != 0 && got != order || got == 0 && x&y&prefixExact != 0 && order != 0 {
			t.Errorf("%v has the prefix %x, and %v has %x: want %d", a, x, b, y, order)
		}
	}
	for _, list := range [][]cell{floats, integers, decimals} {
		for _, s := range texts {
			if _, ok := exact.Parse([]byte(s)); !ok && s != "" {
				list = append(list, text(s))
			}
		}
		for _, a := range list {
			for _, b := range list {
				check(a, b, a.prefix(), b.prefix(), compareCells(a, b))
			}
		}
	}
	for _, a := range texts {
		for _, b := range texts {
			check(text(a), text(b), fieldPrefix([]byte(a)), fieldPrefix([]byte(b)), compareFields([]byte(a), []byte(b)))
		}
	}
}
