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
