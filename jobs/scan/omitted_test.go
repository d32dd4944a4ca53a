package scan

import (
	"bytes"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// wideDecimals returns an object with decimals of more digits than can be read, also in a list, and with an integer if wanted.
func wideDecimals(t *testing.T, rows int, withID bool) string {
	t.Helper()
	const size = 500
	wide := library.Decimal(1001, 1002, library.FixedLenByteArrayType(size))
	columns, row := library.Group{"wide": wide, "list": library.List(wide)}, map[string]any{"wide": make([]byte, size), "list": [][]byte{make([]byte, size)}}
	if withID {
		columns["id"], row["id"] = library.Int(64), int64(1)
	}
	var out bytes.Buffer
	w := library.NewWriter(&out, library.NewSchema("row", columns))
	for range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestOmitted checks that a result names the columns that cannot be read and that it leaves out.
func TestOmitted(t *testing.T) {
	file := write(t, "a.parquet", wideDecimals(t, 2, true))
	const omitted = `"omitted":["list","wide"]`
	for query, want := range map[string]bool{"limit=5": true, "columns=id": false, "aggregate=count": false} {
		result, err := scan(t, "input="+file, query)
		if err != nil || strings.Contains(result, omitted) != want {
			t.Errorf("%s: got %s, %v, want the omitted columns: %v", query, result, err, want)
		}
	}
}

// TestNested selects, compares and groups by lists and maps of Parquet.
func TestNested(t *testing.T) {
	type row struct {
		ID    int64             `parquet:"id"`
		Tags  []string          `parquet:"tags,list"`
		Props map[string]string `parquet:"props,optional"`
		In    struct {
			List []float64 `parquet:"list"`
			N    int64     `parquet:"n"`
		} `parquet:"in"`
	}
	var out bytes.Buffer
	w := library.NewGenericWriter[row](&out, library.MaxRowsPerRowGroup(7))
	for i := range 20 {
		r := row{ID: int64(i), Tags: []string{"a", "b\""}[:i%3]}
		r.In.List, r.In.N = make([]float64, i%2), int64(i)
		if i%4 > 0 {
			r.Props = map[string]string{"k": string('p' + rune(i%4)), "a": "x"}
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := write(t, "a.parquet", out.String())
	checkRows(t, name, map[string]string{
		"limit=2;order=id":                                         `[["0","[]","","[]","0"],["1","[\"a\"]","{\"a\":\"x\",\"k\":\"q\"}","[0]","1"]]`,
		"by=tags;aggregate=count":                                  `[["[\"a\",\"b\\\"\"]",6],["[\"a\"]",7],["[]",7]]`,
		"by=in.list;aggregate=count,sum(in.n)":                     `[["[0]",10,"100"],["[]",10,"90"]]`,
		"aggregate=count,count(props),distinct(tags),max(in.list)": `[[20,15,3,"[]"]]`,
		"where=tags contains 'b' and props != '';aggregate=count":  `[[5]]`,
		"let=k = json(props, 'k');by=k;aggregate=count":            `[["",5],["q",5],["r",5],["s",5]]`,
	})
}
