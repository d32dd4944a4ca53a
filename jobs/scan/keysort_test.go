package scan

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestKeysAreSorted compares the order of random keys with that of a sort by comparison. Many keys share their first bytes, or
// end with bytes that are zero.
func TestKeysAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"", "a", "a prefix that all keys share"}).Draw(t, "prefix")
		text := rapid.StringOfN(rapid.RuneFrom([]rune{0, 'a', 'b', 'ÿ'}), 0, 12, -1)
		var table keyTable
		for _, key := range rapid.SliceOfN(text, 1, 300).Draw(t, "keys") {
			table.find([]byte(prefix + key))
		}
		var want, got [][]byte
		for g := range table.hashes {
			want = append(want, table.key(g))
		}
		slices.SortFunc(want, bytes.Compare)
		table.sorted(func(group int) { got = append(got, table.key(group)) })
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
