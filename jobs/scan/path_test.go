package scan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// writeDays writes three objects of each given format with the same rows, below folders that are named after days.
func writeDays(t *testing.T, formats ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	type row struct {
		Host string `parquet:"host,dict" json:"host"`
		MS   int64  `parquet:"ms" json:"ms"`
	}
	for _, day := range []int64{9, 10, 11} {
		folder := filepath.Join(root, "y=2026", fmt.Sprintf("d=%02d", day), "place=S%C3%A3o%3A1")
		rows := []row{{"a", day}, {"b", 2 * day}}
		var text, tabs, objects, columns bytes.Buffer
		text.WriteString("host,ms\n")
		tabs.WriteString("host\tms\n")
		w := library.NewGenericWriter[row](&columns)
		for _, r := range rows {
			fmt.Fprintf(&text, "%s,%d\n", r.Host, r.MS)
			fmt.Fprintf(&tabs, "%s\t%d\n", r.Host, r.MS)
			fmt.Fprintf(&objects, `{"host":%q,"ms":%d}`+"\n", r.Host, r.MS)
		}
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		contents := map[string]*bytes.Buffer{"csv": &text, "tsv": &tabs, "ndjson": &objects, "parquet": &columns}
		for _, ending := range formats {
			if err := os.WriteFile(filepath.Join(folder, "x."+ending), contents[ending].Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// TestPathColumns uses the columns in the names of objects, in each format.
func TestPathColumns(t *testing.T) {
	formats := []string{"csv", "tsv", "ndjson", "parquet"}
	root := writeDays(t, formats...)
	for query, want := range map[string]string{
		"by=d;aggregate=count,sum(ms)":                                      `[["09",2,"27"],["10",2,"30"],["11",2,"33"]]`,
		"aggregate=min(d),max(d),sum(d),distinct(place);where=ms > 10":      `[["9","11","41",1]]`,
		"by=place,host;aggregate=sum(ms);where=d != 10 and y == 2026":       `[["São:1","a","20"],["São:1","b","40"]]`,
		"by=host;aggregate=sum(ms);where=d == 9":                            `[["a","9"],["b","18"]]`,
		"columns=d,host,y;where=ms == 2 * d;order=-d":                       `[["11","b","2026"],["10","b","2026"],["09","b","2026"]]`,
		"columns=d,ms;where=place startsWith 'São' and d in ['09'];limit=1": `[["09","9"]]`,
		"aggregate=count;where=_object contains '/d=09/'":                   `[[2]]`,
		"aggregate=distinct(_object)":                                       `[[3]]`,
	} {
		for _, ending := range formats {
			got, err := scan(t, append(strings.Split(query, ";"), "input="+root+"/y=2026/*/*/x."+ending, "block=7")...)
			if _, rows, _ := strings.Cut(got, `"rows":`); err != nil || !strings.HasPrefix(rows, want) {
				t.Errorf("%s of %s: got %s, %v, want %s", query, ending, got, err, want)
			}
		}
	}
}

// TestAllPathColumns returns all columns, those of the path after those of the objects.
func TestAllPathColumns(t *testing.T) {
	root := writeDays(t, "csv", "tsv", "parquet")
	for ending, want := range map[string]string{
		"csv":     `[["a","9","2026","09","São:1"],["b","18","2026","09","São:1"]]`,
		"parquet": `[["a","9","2026","09","São:1"],["b","18","2026","09","São:1"]]`,
		"tsv":     `[["a","9","2026","09","São:1"],["b","18","2026","09","São:1"]]`,
	} {
		got, err := scan(t, "input="+root+"/y=2026/*/*/x."+ending, "where=d < 10")
		if _, rows, _ := strings.Cut(got, `"rows":`); err != nil || !strings.HasPrefix(rows, want) || !strings.Contains(got, `{"name":"place","type":"text"}`) {
			t.Errorf("%s: got %s, %v, want %s", ending, got, err, want)
		}
	}
	got, err := scan(t, "input="+root+"/y=2026/*/*/x.csv", "format=lines", "where=line == 'a,9'")
	if want := `[["a,9","2026","09","São:1"]]`; err != nil || !strings.Contains(got, want) {
		t.Errorf("lines: got %s, %v, want %s", got, err, want)
	}
}

// TestSpecialPathColumns reads paths with missing values, columns that the objects have too, and columns of some objects
// only.
func TestSpecialPathColumns(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"k=__HIVE_DEFAULT_PARTITION__/a.csv": "x,y\n1,2\n",
		"k=7/k=8/a.csv":                      "x,y\n3,4\n",
		"x=9/k=7/a.csv":                      "x,y\n5,6\n",
		"x=9/k=7/a.ndjson":                   `{"y":6}` + "\n" + `{"x":5,"y":7}` + "\n",
		"=9/k=5=5/a.csv":                     "x,y\n7,8\n",
		"k=%FF%/a.csv":                       "x,y\n9,9\n",
		"k=%FF/a.csv":                        "x,y\n9,9\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ pairs, want string }{
		{"input=k=__*/*.csv,k=7/*/*.csv;by=k;aggregate=sum(x)", `"rows":[["","1"],["7","3"]]`},
		{"input=x=9/*/a.csv;columns=x,k", `"rows":[["5","7"]]`},
		{"input=x=9/*/a.csv", `"rows":[["5","6","7"]]`},
		{"input=x=9/*/a.ndjson;columns=x,y,k", `"rows":[["","6","7"],["5","7","7"]]`},
		{"input==9/*/a.csv;columns=x,k", `"rows":[["7","5=5"]]`},
		{"input=k=%FF*/*.csv;columns=k", `"rows":[["%FF%"],["�"]]`},
		{"input=x=9/*/a.csv,k=7/*/a.csv;columns=k", `"rows":[["7"],["7"]]`},
		{"input=x=9/*/a.csv;columns=z", `there is no column "z": the columns are x, y`},
		{"input=x=9/*/a.ndjson;columns=z", `there is no column "z": the columns are y, x`},
	} {
		var pairs []string
		for pair := range strings.SplitSeq(test.pairs, ";") {
			if patterns, ok := strings.CutPrefix(pair, "input="); ok {
				pair = "input=" + root + "/" + strings.ReplaceAll(patterns, ",", ","+root+"/")
			}
			pairs = append(pairs, pair)
		}
		got, err := scan(t, pairs...)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", test.pairs, got, test.want)
		}
	}
	_, err := scan(t, "input="+root+"/x=9/k=7/a.csv,"+write(t, "b.csv", "x,y\n"), "columns=k")
	if err == nil || !strings.Contains(err.Error(), `column "k" is in the name of `+root) || !strings.Contains(err.Error(), "b.csv") {
		t.Errorf("a column of some objects: got %v", err)
	}
}

// TestSkippedPaths leaves out the objects of other days, and counts the bytes that it reads.
func TestSkippedPaths(t *testing.T) {
	root := writeDays(t, "csv")
	size := len("host,ms\na,10\nb,20\n")
	for where, want := range map[string]int{
		"d == 10":                                   size,
		"ms < 100 and (d == 10 and y == 2026)":      size,
		"lower(place) == 'são:1' && d > 9":          2 * size,
		"d == 10 or d == 11":                        2 * size,
		"d == 10 or ms == 22":                       3*size - 1, // the objects of the first day are a byte shorter
		"not (d in ['09', '10'])":                   size,
		"d == 10 and y + 1 == 2027":                 size,
		"d startsWith '1' and int(d) % 2 == 0":      size,
		"d == 12":                                   size - 1, // the columns of the first object are needed
		"d == 10 and place matches '^S' and ms > 1": size,
	} {
		for _, input := range []string{root + "/", root + "/y=2026/*/*/x.csv"} {
			got, err := scan(t, "input="+input, "where="+where, "aggregate=count")
			if err != nil || !strings.Contains(got, fmt.Sprintf(`"bytes_read":%d,`, want)) {
				t.Errorf("%s of %s: got %s, %v, want %d bytes", where, input, got, err, want)
			}
		}
	}
}

// TestSkippedPathsOfHiddenColumns leaves out no object if the objects have a column of the same name.
func TestSkippedPathsOfHiddenColumns(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"d=1/a.csv": "d,x\n5,1\n6,2\n", "d=2/a.csv": "d,x\n5,3\n", "d=1/a.ndjson": `{"d":5}`, "d=2/a.ndjson": `{"d":6}`} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ input, where, want string }{
		{"/*/*.csv", "d != 1 and d == 5", `"rows":[[2]]`},
		{"/*/*.ndjson", "d != 1 and d >= 5", `"rows":[[2]]`},
		{"/*/*.csv", "x > 2 and d == 3", `"rows":[[0]]`},
	} {
		got, err := scan(t, "input="+root+test.input, "where="+test.where, "aggregate=count")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s of %s: got %s, want %s", test.where, test.input, got, test.want)
		}
	}
}
