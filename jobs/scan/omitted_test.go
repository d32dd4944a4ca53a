package scan

import (
	"bytes"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// TestOmitted checks that a result names the columns of lists that it leaves out.
func TestOmitted(t *testing.T) {
	type row struct {
		ID   int64    `parquet:"id"`
		Tags []string `parquet:"tags,list"`
	}
	var content bytes.Buffer
	w := library.NewGenericWriter[row](&content)
	if _, err := w.Write([]row{{1, []string{"a"}}, {2, nil}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := write(t, "a.parquet", content.String())
	const omitted = `"omitted":["tags.list.element"]`
	for query, want := range map[string]bool{"limit=5": true, "columns=id": false, "aggregate=count": false} {
		result, err := scan(t, "input="+file, query)
		if err != nil || strings.Contains(result, omitted) != want {
			t.Errorf("%s: got %s, %v, want the omitted column: %v", query, result, err, want)
		}
	}
}
