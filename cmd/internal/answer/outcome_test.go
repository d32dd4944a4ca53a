package answer

import (
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	for _, tt := range []struct {
		result string
		want   []field
	}{
		{`{"b":1,"a":"x","c":[1,2]}`, []field{{"b", "1"}, {"a", "x"}, {"c", "[1,2]"}}},
		{`{}`, nil},
		{`42`, []field{{"result", "42"}}},
		{`[1,2]`, []field{{"result", "[1,2]"}}},
		{`{"a":`, []field{{"result", `{"a":`}}},
	} {
		if got := fields([]byte(tt.result)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.result, got, tt.want)
		}
	}
}

// TestTableOfOutputs checks that a table whose rows are in objects has no headings.
func TestTableOfOutputs(t *testing.T) {
	table := func(o Outcome) string {
		var out strings.Builder
		o.Table(&out)
		return out.String()
	}
	const columns = `{"columns":[{"name":"city"}],"rows":[]`
	if got := table(Outcome{Result: []byte(columns + `,"output":{"rows":2}}`)}); strings.Contains(got, "city") || !strings.Contains(got, `{"rows":2}`) {
		t.Errorf("rows in objects: got\n%s", got)
	}
	if got := table(Outcome{Result: []byte(columns + `}`)}); !strings.HasSuffix(got, "\n\ncity\n") {
		t.Errorf("no rows: got\n%s", got)
	}
}
