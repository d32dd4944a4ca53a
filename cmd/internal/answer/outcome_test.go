package answer

import (
	"slices"
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
