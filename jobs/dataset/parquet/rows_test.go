package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// TestMemoryOfRows reads row groups in turns, so that one of them ends, and another one begins with its memory, while a third
// one is read.
func TestMemoryOfRows(t *testing.T) {
	type row struct {
		Code  *string  `parquet:"code,optional,dict"`
		Text  string   `parquet:"text"`
		Mixed string   `parquet:"mixed,dict"`
		List  []string `parquet:"list,list"`
	}
	var content bytes.Buffer
	w := library.NewGenericWriter[row](&content, library.MaxRowsPerRowGroup(1500), library.PageBufferSize(3000), library.DictionaryMaxBytes(4000), library.Compression(&library.Snappy))
	var want []string
	for i := range 6000 {
		code := fmt.Sprint("code ", i/1500, i%3)
		r := row{&code, fmt.Sprint("text ", i), fmt.Sprint("mixed ", i/2), []string{fmt.Sprint(i)}}
		if i%7 == 0 {
			r.Code, code = nil, ""
		}
		want = append(want, fmt.Sprintf(`%s|%s|%s|["%d"]`, code, r.Text, r.Mixed, i))
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(content.Bytes()), int64(content.Len()))
	if err != nil {
		t.Fatal(err)
	}
	open := func(group int) (rows *Rows) {
		t.Helper()
		if rows, err = openRows(f, group, []int{0, 1, 2, 3}, content.Bytes()); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	check := func(rows *Rows, begin, end int) {
		t.Helper()
		for i := begin; i < end; i++ {
			if ok, err := rows.Next(); !ok || err != nil {
				t.Fatalf("row %d: %v, %v", i, ok, err)
			}
			var fields []string
			for column := range 4 {
				field, _ := rows.Field(column, nil)
				fields = append(fields, string(field))
			}
			if got := strings.Join(fields, "|"); got != want[i] {
				t.Fatalf("row %d: got %q, want %q", i, got, want[i])
			}
		}
		if end%1500 == 0 {
			if ok, err := rows.Next(); ok || err != nil {
				t.Fatalf("after row %d: %v, %v", end, ok, err)
			}
		}
	}
	first, second := open(0), open(1)
	check(first, 0, 700)
	check(second, 1500, 3000)
	third := open(2)
	check(third, 3000, 3100)
	check(first, 700, 1500)
	fourth := open(3)
	check(fourth, 4500, 6000)
	check(third, 3100, 4500)
}
