package names

import (
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	long := strings.Split(strings.Repeat("abc ", 1000), " ")
	for _, c := range []struct {
		list []string
		want string
	}{
		{nil, ""},
		{[]string{"a", "b"}, "a, b"},
		{long[:21], strings.Repeat("abc, ", 19) + "abc and 1 more"},
		{[]string{strings.Repeat("é", 1000)}, strings.Repeat("é", 40) + "…"},
		{[]string{"a" + strings.Repeat("é", 1000)}, "a" + strings.Repeat("é", 39) + "…"},
	} {
		if got := List(c.list); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestPositions(t *testing.T) {
	got := Positions([]string{"a", "b", "a"})
	if len(got) != 2 || got["a"] != 0 || got["b"] != 1 {
		t.Errorf("got %v, want the first index of each name", got)
	}
}

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns []string
		want    string
	}{
		{"a", nil, `there is no column "a"`},
		{"a", []string{"b", "c"}, `there is no column "a": the columns are b, c`},
		{"a", []string{"b", " a"}, `there is no column "a", but the column " a", whose name includes spaces: the parameter trim leaves them out of csv and tsv, and the parameter names gives columns other names`},
	} {
		if got := Missing(c.name, c.columns).Error(); got != c.want {
			t.Errorf("%q of %q: got %s, want %s", c.name, c.columns, got, c.want)
		}
	}
}
