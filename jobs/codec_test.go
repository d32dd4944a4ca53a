package jobs

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

type everything struct {
	I     int64
	U     uint64
	F     float64
	G     float32
	S     string
	B     []byte
	L     []float64
	M     map[string]int64
	P     *everything
	Inner struct{ A, B uint8 }
}

func TestCodecRoundTrip(t *testing.T) {
	floats := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1,
	}))
	codec := cborCodec[everything]{}
	rapid.Check(t, func(t *rapid.T) {
		v := everything{
			I: rapid.Int64().Draw(t, "i"), U: rapid.Uint64().Draw(t, "u"),
			F: floats.Draw(t, "f"), G: rapid.Float32().Draw(t, "g"),
			S: rapid.String().Draw(t, "s"), B: rapid.SliceOf(rapid.Byte()).Draw(t, "b"),
			L: rapid.SliceOf(floats).Draw(t, "l"),
			M: rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "m"),
			P: &everything{U: 1},
		}
		v.Inner.A = rapid.Byte().Draw(t, "a")
		data, err := codec.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := codec.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if !sameBits(got.F, v.F) || len(got.L) != len(v.L) {
			t.Fatalf("got %v, want %v", got, v)
		}
		for i := range got.L {
			if !sameBits(got.L[i], v.L[i]) {
				t.Fatalf("got %v, want %v", got.L, v.L)
			}
		}
		got.F, got.L, v.F, v.L = 0, nil, 0, nil
		if !reflect.DeepEqual(got, v) {
			t.Fatalf("got %+v, want %+v", got, v)
		}
	})
}

func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

func TestCodecKeepsTimes(t *testing.T) {
	codec := cborCodec[time.Time]{}
	want := time.Date(2001, 2, 3, 4, 5, 6, 123456789, time.UTC)
	got, err := codec.Decode(must(codec.Encode(want)))
	if err != nil || !got.Equal(want) {
		t.Errorf("got %v: %v, want %v", got, err, want)
	}
}

func TestCodecSortsMaps(t *testing.T) {
	codec := cborCodec[map[string]int]{}
	m := make(map[string]int)
	for i := range 100 {
		m[strings.Repeat("x", i%7)+string(rune('a'+i%26))] = i
	}
	want := must(codec.Encode(m))
	for range 20 {
		if got := must(codec.Encode(m)); !bytes.Equal(got, want) {
			t.Fatal("the same map has two encodings")
		}
	}
}

// TestCodecHasOneNaN checks that NaNs with different payloads have the same encoding.
func TestCodecHasOneNaN(t *testing.T) {
	codec := cborCodec[float64]{}
	other := math.Float64frombits(math.Float64bits(math.NaN()) ^ 0xf0)
	if !bytes.Equal(must(codec.Encode(math.NaN())), must(codec.Encode(other))) {
		t.Error("two NaNs have two encodings")
	}
}

func FuzzCodecDecode(f *testing.F) {
	codec := cborCodec[everything]{}
	f.Add(must(codec.Encode(everything{F: math.NaN(), M: map[string]int64{"a": 1}, P: &everything{}})))
	f.Add([]byte{0xa1, 0x61, 'L', 0x9b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := codec.Decode(data)
		if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
		first := must(codec.Encode(v))
		second := must(codec.Encode(must(codec.Decode(first))))
		if !bytes.Equal(first, second) {
			t.Errorf("encoded %x, then %x", first, second)
		}
	})
}

type tree struct {
	Children []tree
	Self     *tree
}

type embedded struct {
	everything
	Extra int
}
