package jobs

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

type words struct {
	Names []string
	Of    map[string]words
	At    time.Time
	By    map[float64]int
	Next  *words
}

func nested(levels int) words {
	w := words{}
	for range levels - 1 {
		next := w
		w = words{Next: &next}
	}
	return w
}

// TestDrainRefusesWhatCannotBeDecoded checks that Drain fails for a value that cannot be decoded.
// The error must be permanent and name the wrong part of the value.
func TestDrainRefusesWhatCannotBeDecoded(t *testing.T) {
	cyclic := &words{}
	cyclic.Of = map[string]words{"a": {Next: cyclic}}
	for _, c := range []struct {
		value words
		want  string // text that the error must contain; empty if no error is expected
	}{
		{words{Names: []string{"ok", "é"}, By: map[float64]int{math.NaN(): 1, 0: 2}}, ""},
		{words{Names: []string{"ok", "\xff"}}, `["Names"][1]: string "\xff" is not UTF-8: want UTF-8, or a []byte`},
		{words{Of: map[string]words{"x": {Names: []string{"\xc3"}}}}, `["Of"]["x"]["Names"][0]: string "\xc3"`},
		{words{Of: map[string]words{strings.Repeat("\xff", 100): {}}}, `["Of"][key]: string "` + strings.Repeat(`\xff`, 40) + `" is not UTF-8`},
		{nested(maxNesting), ""},
		{nested(maxNesting + 1), "value is nested deeper than 32 levels"},
		{*cyclic, "value is cyclic"},
		{words{By: map[float64]int{math.NaN(): 1, math.Float64frombits(math.Float64bits(math.NaN()) ^ 1): 2}}, `two keys of a map have the same encoding`},
		{words{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "10000-01-01"},
	} {
		job := MustNew(Definition[struct{}, words, int]{
			Name: "words", Version: "1",
			Plan: func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 2}, nil },
			Open: func(context.Context, struct{}, Plan) (Mapper[words], error) {
				return wordsMapper(c.value), nil
			},
			Merge:  func(l, _ words) (words, error) { return l, nil },
			Finish: func(context.Context, struct{}, words) (int, error) { return 0, nil },
		})
		params := must(job.Params(nil))
		s := must(job.binding.open(t.Context(), params, Plan{Partitions: 2})).NewStack()
		if _, err := s.Run(t.Context(), Span{Hi: 1}, new(atomic.Bool)); err != nil {
			t.Fatal(err)
		}
		partials, err := s.Drain(1)
		if c.want == "" {
			if err != nil {
				t.Errorf("want no error, got %v", err)
				continue
			}
			if _, err := merge(t.Context(), job, nil, partials[0].Data, partials[0].Data); err != nil {
				t.Errorf("a partial that was drained cannot be merged: %v", err)
			}
			continue
		}
		if err == nil || !IsPermanent(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want a permanent error with %q", err, c.want)
		}
	}
}

type wordsMapper words

func (m wordsMapper) Map(context.Context, uint64) (words, error) { return words(m), nil }

// TestCheckDecodableAgreesWithTheDecoder checks that checkDecodable refuses exactly the data that
// the decoder refuses.
func TestCheckDecodableAgreesWithTheDecoder(t *testing.T) {
	strs := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", "\xff", "a\xc3"}))
	rapid.Check(t, func(t *rapid.T) {
		w := words{
			Names: rapid.SliceOf(strs).Draw(t, "names"),
			By:    rapid.MapOf(rapid.Float64(), rapid.Int()).Draw(t, "by"),
			Of:    map[string]words{strs.Draw(t, "key"): nested(rapid.IntRange(maxNesting-4, maxNesting).Draw(t, "levels"))},
		}
		data := must(cborEncoding.Marshal(w))
		var got words
		decoded, checked := cborDecoding.Unmarshal(data, &got), checkDecodable(data)
		if (decoded == nil) != (checked == nil) {
			t.Fatalf("the decoder says %v, the check %v", decoded, checked)
		}
	})
}

func FuzzCheckDecodable(f *testing.F) {
	f.Add(must(cborEncoding.Marshal(words{Names: []string{"a", "\xff"}, By: map[float64]int{1: 2}})))
	f.Add([]byte{0x9f, 0x01, 0xff}) // an array of indefinite length
	f.Add([]byte{0xc1, 0xc1, 0x01})
	f.Add([]byte{0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		err := checkDecodable(data)
		if err == nil {
			corpus.Taken()
			return
		}
		corpus.Refused()
		var v any
		if cborDecoding.Unmarshal(data, &v) == nil && !strings.Contains(err.Error(), "two keys") {
			t.Errorf("%x, which can be decoded: %v", data, err)
		}
	})
}

// BenchmarkEncode measures the default codec with and without its checks.
func BenchmarkEncode(b *testing.B) {
	numbers := make([]float64, 1000)
	counts := make(map[string]int64, 1000)
	texts := make([]string, 1000)
	for i := range numbers {
		numbers[i] = float64(i) * 1.1
		texts[i] = strings.Repeat("x", i%20)
		counts[texts[i]+string(rune('a'+i%26))] = int64(i)
	}
	benchmarkEncode(b, "floats", everything{L: numbers})
	benchmarkEncode(b, "map", counts)
	benchmarkEncode(b, "strings", texts)
	benchmarkEncode(b, "small", struct{ A, B, C uint64 }{1, 1 << 40, 3})
}

func benchmarkEncode[T any](b *testing.B, name string, value T) {
	checked, err := newCBORCodec[T]()
	if err != nil {
		b.Fatal(err)
	}
	for kind, codec := range map[string]cborCodec[T]{"/checked": checked, "/plain": {}} {
		b.Run(name+kind, func(b *testing.B) {
			for b.Loop() {
				if _, err := codec.Encode(value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
