package jobs

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/bellwether-compute/bellwether/jobs/fuzztest"
)

func TestVectorIsLittleEndian(t *testing.T) {
	data := must(Vector[uint32]{}.Encode([]uint32{1, 0x01020304}))
	if want := []byte{1, 0, 0, 0, 4, 3, 2, 1}; !bytes.Equal(data, want) {
		t.Errorf("got %x, want %x", data, want)
	}
	data = []byte{1, 2, 3, 4, 5, 6, 7, 8}
	reverse(data, 4)
	if want := []byte{4, 3, 2, 1, 8, 7, 6, 5}; !bytes.Equal(data, want) {
		t.Errorf("reversed numbers are %x, want %x", data, want)
	}
}

func TestVectorKeepsBits(t *testing.T) {
	want := []float64{math.Copysign(0, -1), math.Float64frombits(0x7ff8_0000_dead_beef), math.Inf(-1), math.SmallestNonzeroFloat64}
	got := must(Vector[float64]{}.Decode(must(Vector[float64]{}.Encode(want))))
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Errorf("element %d: got %x, want %x", i, math.Float64bits(got[i]), math.Float64bits(want[i]))
		}
	}
	if data := must(Vector[float64]{}.Encode(nil)); len(data) != 0 {
		t.Errorf("nil is encoded as %x", data)
	}
	for _, data := range [][]byte{nil, {}} {
		if v := must(Vector[float64]{}.Decode(data)); v != nil {
			t.Errorf("no bytes are decoded as %v, want nil", v)
		}
		if v := must(Vector[float64]{}.DecodeInPlace(data)); v != nil {
			t.Errorf("no bytes are decoded in place as %v, want nil", v)
		}
	}
}

func TestVectorRefusesPartsOfNumbers(t *testing.T) {
	for _, decode := range []func([]byte) ([]int16, error){Vector[int16]{}.Decode, Vector[int16]{}.DecodeInPlace} {
		if v, err := decode(make([]byte, 3)); err == nil {
			t.Errorf("3 bytes are decoded as %v", v)
		}
	}
}

// TestVectorMemory checks that Encode and Decode copy the numbers, and that EncodeInPlace and
// DecodeInPlace do not copy aligned data.
func TestVectorMemory(t *testing.T) {
	codec := Vector[float64]{}
	same := func(a []float64, b []byte) bool {
		return unsafe.Pointer(unsafe.SliceData(a)) == unsafe.Pointer(unsafe.SliceData(b))
	}
	value := []float64{1, 2, 3}
	if same(value, must(codec.Encode(value))) {
		t.Error("Encode returned the value's memory")
	}
	data := must(codec.EncodeInPlace(value))
	if !same(value, data) {
		t.Error("EncodeInPlace copied the value")
	}
	if same(must(codec.Decode(data)), data) {
		t.Error("Decode returned the memory of its argument")
	}
	if !same(must(codec.DecodeInPlace(data)), data) {
		t.Error("DecodeInPlace copied aligned bytes")
	}
	shifted := append(make([]byte, 1, 32), data...)[1:]
	if got := must(codec.DecodeInPlace(shifted)); same(got, shifted) || !slices.Equal(got, value) {
		t.Errorf("DecodeInPlace of bytes that are not aligned returned %v", got)
	}
}

// fuzzRecode checks that data that can be decoded does not change when it is decoded and encoded.
// fuzzRecode also checks the codec's methods EncodeInPlace and DecodeInPlace.
func fuzzRecode[T any](t *testing.T, codec InPlaceCodec[T], data []byte) {
	value, err := codec.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := must(codec.Encode(value)); !bytes.Equal(again, data) {
		t.Errorf("%x is encoded again as %x", data, again)
	}
	if again := must(codec.EncodeInPlace(must(codec.DecodeInPlace(bytes.Clone(data))))); !bytes.Equal(again, data) {
		t.Errorf("%x is encoded again in place as %x", data, again)
	}
}

func FuzzVector(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzRecode(t, Raw{}, data)
		whole := data[:len(data)&^7]
		fuzzRecode(t, Vector[float64]{}, whole)
		fuzzRecode(t, Vector[float32]{}, whole)
		fuzzRecode(t, Vector[int64]{}, whole)
		fuzzRecode(t, Vector[uint16]{}, whole)
		_, err := Vector[float64]{}.Decode(data)
		if (err == nil) != (len(data)%8 == 0) {
			t.Errorf("decoding %d bytes: %v", len(data), err)
		}
		if err != nil {
			corpus.Refused()
			return
		}
		corpus.Taken()
	})
}

func FuzzZstd(f *testing.F) {
	codec := Zstd(Raw{})
	f.Add([]byte("plain"))
	f.Add(must(codec.Encode(make([]byte, 1000))))
	f.Add([]byte{})
	corpus := fuzztest.Watch(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		encoded := must(codec.Encode(data))
		if got := must(codec.Decode(encoded)); !bytes.Equal(got, data) {
			t.Errorf("%x becomes %x", data, got)
		}
		if again := must(codec.Encode(data)); !bytes.Equal(again, encoded) {
			t.Errorf("%x is encoded as %x and then as %x", data, encoded, again)
		}
		if _, err := codec.Decode(data); err != nil {
			corpus.Refused()
		} else {
			corpus.Taken()
		}
	})
}

func TestZstd(t *testing.T) {
	value := make([]float64, 1000)
	codec := Zstd(Vector[float64]{})
	data := must(codec.Encode(value))
	if len(data) > 100 {
		t.Errorf("1,000 zeros are encoded in %d bytes", len(data))
	}
	if got := must(codec.Decode(data)); !slices.Equal(got, value) {
		t.Errorf("got %v", got)
	}
	if got := must(Zstd[map[string]int](nil).Decode(must(Zstd[map[string]int](nil).Encode(map[string]int{"a": 1})))); got["a"] != 1 {
		t.Errorf("got %v", got)
	}
}

func TestDecodedSize(t *testing.T) {
	value := make([]float64, 1000)
	for _, c := range []struct {
		codec Codec[[]float64]
		data  []byte
		want  uint64
	}{
		{Zstd(Vector[float64]{}), must(Zstd(Vector[float64]{}).Encode(value)), 8000},
		{Zstd(Vector[float64]{}), []byte("no zstd"), 7},
		{Vector[float64]{}, make([]byte, 80), 80},
	} {
		job := MustNew(Definition[struct{}, []float64, int]{
			Name: "numbers", Version: "1", Codec: c.codec,
			Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1}, nil },
			Open:   func(context.Context, struct{}, Plan) (Mapper[[]float64], error) { return nil, nil },
			Merge:  func(left, _ []float64) ([]float64, error) { return left, nil },
			Finish: func(context.Context, struct{}, []float64) (int, error) { return 0, nil },
		})
		if got := job.Engine().DecodedSize(c.data); got != c.want {
			t.Errorf("%T, %d bytes: got %d, want %d", c.codec, len(c.data), got, c.want)
		}
	}
}

// TestZstdChecksType checks that New refuses the same types for Zstd(nil) as for the default codec.
func TestZstdChecksType(t *testing.T) {
	type lossy struct {
		Lost int `json:"-"`
	}
	_, err := New(Definition[struct{}, lossy, int]{
		Name: "lossy", Version: "1",
		Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:   func(context.Context, struct{}, Plan) (Mapper[lossy], error) { return nil, nil },
		Merge:  func(left, _ lossy) (lossy, error) { return left, nil },
		Finish: func(context.Context, struct{}, lossy) (int, error) { return 0, nil },
		Codec:  Zstd[lossy](nil),
	})
	if err == nil {
		t.Error("New took a type whose values the codec changes")
	}
}
