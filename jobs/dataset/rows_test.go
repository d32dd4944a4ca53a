package dataset

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestFinder compares the fields that a finder finds with those of split.
func TestFinder(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	pieces := []string{"a", "12.5", "a long text of a field", "ü", `"`, `""`, `"a"`, `"x,y"`, "\"line\nline\"", `"ü ""q"""`, " ", ",", ",", ",", "\n", "\n", "\r\n", "\r"}
	found := 0
	for range 20_000 {
		var b strings.Builder
		for range random.IntN(14) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := []byte(b.String())
		l := &layout{format: csv, delimiter: ',', quote: '"', columns: []string{"a", "b", "c"}}
		want := []int{0, 1, 2}[random.IntN(3):]
		f := finder{delimiter: ',', quote: '"', fields: make([]bound, 3), wanted: l.firstWanted(want)}
		size, count := f.find(text)
		if size < 0 {
			continue
		}
		found++
		r := &Record{layout: l, fields: make([]bound, 3)}
		r.text = trim(text[:size], 1)
		r.data = r.text
		if err := r.split(); (err == nil) != (count == 3) {
			t.Fatalf("%q: got %d fields, and split returns %v", text, count, err)
		} else if err != nil {
			continue
		}
		for _, i := range want {
			field := text[f.fields[i].lo:f.fields[i].hi]
			if i == 2 && len(r.text) < size-1 { // as the method row does
				field = field[:len(field)-1]
			}
			if got := r.data[r.fields[i].lo:r.fields[i].hi]; !slices.Equal(got, field) {
				t.Fatalf("%q: field %d is %q, and %q by split", text, i, field, got)
			}
		}
	}
	if found < 1000 {
		t.Fatalf("a finder found only %d rows", found)
	}
}
