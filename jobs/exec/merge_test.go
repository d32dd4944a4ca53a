package exec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// randomOutput returns the output of a call: lines of a key and a number, some of them long.
func randomOutput(random *rand.Rand) []byte {
	var b bytes.Buffer
	for range random.IntN(40) {
		key := strings.Repeat(string(rune('a'+random.IntN(6))), random.IntN(3))
		if random.IntN(20) == 0 {
			key = strings.Repeat("long ", 100_000) + key
		}
		fmt.Fprintf(&b, "%s\t%d.%d\n", key, random.IntN(50)-25, random.IntN(3))
	}
	return b.Bytes()
}

// TestStreamsMergeAlike compares merges of partials in memory with merges of streams.
func TestStreamsMergeAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for i := range 300 {
		m, err := parseMerge([]string{"concat", "sum", "min", "max", "sorted", "top:7", "top:1000"}[i%7])
		if err != nil {
			t.Fatal(err)
		}
		var partials [2][]byte
		for side := range partials {
			body, err := m.normalize(randomOutput(random))
			if err != nil {
				t.Fatal(err)
			}
			f := files{}
			if i%3 == 0 {
				f = newFiles("id", fmt.Sprint("item ", side), nil)
			}
			partials[side] = newPartial(m, f, body)
		}
		var got bytes.Buffer
		var left, right io.Reader = bytes.NewReader(partials[0]), bytes.NewReader(partials[1])
		if i%2 == 0 {
			left, right = iotest.DataErrReader(left), iotest.HalfReader(right)
		}
		if err := mergeStreams(left, right, &got); err != nil {
			t.Fatal(err)
		}
		want, err := mergePartials(partials[0], partials[1])
		if err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("merge %s of %.300q and %.300q: %.300q, want %.300q, %v", m.name, partials[0], partials[1], got.Bytes(), want, err)
		}
	}
}

// TestStreamsThatFail checks the errors of merges of damaged partials, and of streams that cannot be read or written.
func TestStreamsThatFail(t *testing.T) {
	broken := errors.New("broken")
	good := func() io.Reader { return strings.NewReader("sum\na\t1\n") }
	for name, test := range map[string]struct {
		left, right io.Reader
		want        string
	}{
		"unreadable":     {good(), iotest.ErrReader(broken), "broken"},
		"unreadable end": {io.MultiReader(good(), iotest.ErrReader(broken)), good(), "broken"},
		"cut":            {good(), strings.NewReader("sum\na\t1"), "damaged partial"},
		"cut head":       {strings.NewReader("sum"), good(), "damaged partial"},
		"empty":          {strings.NewReader(""), good(), "damaged partial"},
		"no number":      {good(), strings.NewReader("sum\na\tx\n"), "line 1, \"a\\tx\": want a key, a tab and a decimal number"},
		"other merge":    {good(), strings.NewReader("max\na\t1\n"), "merge a partial of merge sum"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := mergeStreams(test.left, test.right, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if err := mergeStreams(good(), good(), brokenWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("a stream that cannot be written: %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
