package answer

import (
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/client"
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

func TestReuseRows(t *testing.T) {
	for _, tt := range []struct {
		reuse client.Reuse
		want  string
	}{
		{client.Reuse{}, "reused 0"},
		{client.Reuse{Partitions: 2, SavedSeconds: 1.5, From: []string{"a"}}, "reused 2, 1.5 s of computing saved, from a"},
		{client.Reuse{Partitions: 2, SavedSeconds: 1.5, From: []string{"a", "b", "c", "d", "e"}}, "reused 2, 1.5 s of computing saved, from a, b, c and 2 more"},
	} {
		var out strings.Builder
		ReuseRows(&out, &tt.reuse)
		if got := strings.Join(strings.Fields(out.String()), " "); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
