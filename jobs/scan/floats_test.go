package scan

import (
	"bytes"
	"math"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"
)

// TestFloatsThatAreNotNumbers checks infinite floats and NaN in columns of Parquet objects.
func TestFloatsThatAreNotNumbers(t *testing.T) {
	type row struct {
		Key   string  `parquet:"key,dict"`
		Plain float64 `parquet:"plain"`
		Coded float32 `parquet:"coded,dict"`
	}
	var content bytes.Buffer
	w := library.NewGenericWriter[row](&content)
	for _, f := range []float64{1.5, math.Inf(1), 3, math.NaN(), math.Inf(-1)} {
		if _, err := w.Write([]row{{"a", f, float32(f)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := write(t, "m.parquet", content.String())
	for _, column := range []string{"plain", "coded"} {
		for _, function := range []string{"min", "max", "sum", "mean", "var", "stddev", "p50"} {
			query := []string{"input=" + name, "by=key", "aggregate=" + function + "(" + column + ")"}
			_, err := scan(t, query...)
			if err == nil || !strings.Contains(err.Error(), `"+Inf": want a number`) || !strings.Contains(err.Error(), "row 2 ") || !strings.Contains(err.Error(), "m.parquet") {
				t.Errorf("%s(%s): got %v, want an error with the object, the row and the value", function, column, err)
			}
			skipped, err := scan(t, append(query, "on-error=skip")...)
			if err != nil || !strings.Contains(skipped, `"rows_read":2,`) || !strings.Contains(skipped, `"rows_skipped":3`) {
				t.Errorf("%s(%s), on-error=skip: got %s, %v, want 2 rows and 3 skipped", function, column, skipped, err)
			}
			filtered, err := scan(t, append(query, "where="+column+" not in ['+Inf', '-Inf', 'NaN']")...)
			if _, rows, _ := strings.Cut(skipped, `"rows":`); err != nil || !strings.Contains(filtered, rows[:strings.Index(rows, "]]")]) {
				t.Errorf("%s(%s), where: got %s, %v, want the rows of %s", function, column, filtered, err, skipped)
			}
		}
		got, err := scan(t, "input="+name, "by="+column, "aggregate=count,count("+column+"),distinct("+column+")")
		if want := `"rows":[[1.5,1,1,1],[3,1,1,1],["+Inf",1,1,1],["-Inf",1,1,1],["NaN",1,1,1]]`; err != nil || !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(got, `"1.5"`, "1.5"), `"3"`, "3"), want) {
			t.Errorf("by %s: got %s, %v, want %s", column, got, err, want)
		}
	}
}
