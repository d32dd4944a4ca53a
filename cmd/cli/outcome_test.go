package cli

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

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567",
	} {
		if got := count(n); got != want {
			t.Errorf("count(%d): got %q, want %q", n, got, want)
		}
	}
}
