package jobs

import (
	"context"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
)

type (
	inner     struct{ Count int }
	Inner     struct{ Count int }
	number    int
	Number    int
	emptied   struct{}
	linked    struct{ Next *linked }
	selfish   struct{ *selfish }
	noEncoder struct{ A int }
	noDecoder struct{ A int }
	stamped   struct {
		time.Time
		Count int
	}
	twice struct {
		N     int
		Other *twice
	}
	zeroer  struct{ N int }
	toArray struct {
		_ struct{} `cbor:",toarray"`
		*Inner
	}
	marshaled struct{ a int }
)

func (*noEncoder) UnmarshalCBOR([]byte) error    { return nil }
func (noDecoder) MarshalBinary() ([]byte, error) { return nil, nil }
func (zeroer) IsZero() bool                      { return true }
func (m marshaled) MarshalBinary() ([]byte, error) {
	return []byte{byte(m.a)}, nil
}

func (m *marshaled) UnmarshalBinary(data []byte) error {
	m.a = int(data[0])
	return nil
}

func TestSurvives(t *testing.T) {
	for _, v := range []any{
		0, "", 1.5, false, float32(1), uint8(1),
		[]byte{},
		[3]byte{},
		[2][3]float64{},
		[]string{},
		map[string]int{},
		map[float64][]byte{},
		map[[2]int]bool{},
		map[inner]int{},
		everything{},
		&everything{},
		tree{},
		embedded{},
		linked{},
		struct{}{},
		emptied{},
		time.Time{},
		big.Int{},
		&big.Int{},
		netip.Addr{},
		url.URL{},
		cbor.RawMessage{},
		marshaled{},
		struct {
			_ struct{} `cbor:",toarray"`
			A float64  `cbor:",omitempty"` // omitempty has no effect in an array
		}{},
		struct{ inner }{},
		struct{ *Inner }{},
		struct{ Number }{},
		struct {
			A int            `json:"a,omitempty"`
			B string         `json:",omitempty"`
			C *Inner         `cbor:"c,omitempty"`
			D time.Time      `json:"d,omitzero"`
			E []int          `json:"e,omitzero"`
			F map[string]int `json:"f,omitzero"`
			G [2]bool        `json:"g,omitempty"`
			H inner          `json:"h,omitempty"`
			I *marshaled
		}{},
		struct {
			A int `cbor:"1,keyasint"`
			B int `cbor:"1"` // the key "1" is a string
		}{},
		struct {
			A int `json:"-" cbor:"a"`
			B int `cbor:"-,"`
		}{},
		[]struct{ A *[2]int }{},
		struct {
			A, B twice
			C    []twice
		}{},
	} {
		if _, err := survives(reflect.TypeOf(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}

	type Stats struct {
		Count int `json:"-"`
	}
	for _, c := range []struct {
		value any
		want  string // text that the error must contain
	}{
		{Stats{}, `Stats.Count is not encoded because of its tag "-": remove`},
		{map[string][]*Stats{}, `T[][].Count is not encoded`},
		{struct{ Stats Stats }{}, `T.Stats.Count is not encoded`},
		{struct{ Stats }{}, `T.Stats.Count is not encoded`},
		{struct {
			A func() `cbor:"-"`
		}{}, `T.A is not encoded`},
		{inner2{count: 1}, `inner2.count is not encoded: want an exported field`},
		{&inner2{}, `inner2.count`},
		{struct{ number }{}, `T.number is not encoded`},
		{struct{ *inner }{}, `T.inner cannot be decoded`},
		{struct {
			inner `json:"x"`
		}{}, `T.inner is not encoded`},
		{struct {
			A int `cbor:"n"`
			B int `cbor:"n"`
		}{}, `T.A and T.B are both encoded as "n"`},
		{struct {
			A int `json:"B"`
			B int
		}{}, `T.A and T.B are both encoded as "B"`},
		{struct {
			A int `cbor:"1,keyasint"`
			B int `cbor:"01,keyasint"`
		}{}, `both encoded as "1"`},
		{struct {
			A int `cbor:"a,keyasint"`
		}{}, `T.A has the option keyasint and the name "a"`},
		{struct {
			Inner
			Count int
		}{}, `T.Inner.Count and T.Count are both encoded as "Count"`},
		{struct {
			Inner
			Other struct{ Inner }
			inner
		}{}, `T.Inner.Count and T.inner.Count are both`},
		{struct {
			A float64 `json:"a,omitempty"`
		}{}, `T.A has the option omitempty, which turns -0 into 0`},
		{struct {
			A float32 `cbor:",omitempty"`
		}{}, `turns -0 into 0`},
		{struct {
			A []int `json:",omitempty"`
		}{}, `turns an empty slice into nil`},
		{struct {
			A float64 `json:",omitzero"`
		}{}, `T.A: a value is changed by encoding and decoding: -0 becomes 0`},
		{struct {
			A zeroer `json:",omitzero"`
		}{}, `T.A has the option omitzero`},
		{struct {
			A *time.Time `json:",omitzero"`
		}{}, `T.A has the option omitzero`},
		{struct{ A **int }{}, `T.A is a **int: a pointer to nil is decoded as nil; want *int`},
		{struct{ A *[]int }{}, `want []int`},
		{[]*map[string]int{}, `T[] is a *map[string]int`},
		{map[*int]int{}, `want keys of type int`},
		{selfish{}, `selfish.selfish cannot be decoded`},
		{toArray{}, `toArray.Inner: a value is changed by encoding and decoding: nil becomes a pointer`},
		{struct {
			*Optional
			N int
		}{}, `T.Optional: a value is changed by encoding and decoding: a pointer becomes nil`},
		{stamped{}, `stamped is encoded by a method of its embedded field Time, without its other fields: give`},
		{struct {
			time.Time
			big.Int
		}{}, `T is encoded by a method of its embedded field Time`},
		{struct {
			big.Int
			N int
		}{}, `T.Int is embedded, so its own encoding is not used`},
		{noEncoder{}, `UnmarshalCBOR and not MarshalCBOR`},
		{noDecoder{}, `MarshalBinary and not UnmarshalBinary`},
		{struct{ A any }{}, `T.A is a interface {}`},
		{struct{ A func() }{}, `T.A is a func()`},
		{make(chan int), `T is a chan int`},
		{1i, `T is a complex128`},
		{uintptr(0), `want a type that CBOR decodes`},
		{deep{}, `decode an encoded value of the type: cbor: exceeded max nested level 32`},
	} {
		if _, err := survives(reflect.TypeOf(c.value)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: got %v, want an error with %q", c.value, err, c.want)
		}
	}
}

type inner2 struct{ count int }

type Optional struct {
	A int `json:",omitempty"`
}

type (
	four [1][1][1][1]int
	deep [1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]four // arrays nested in 33 levels
)

// counted is a partial that loses its count when it is encoded, so that a job's results differ
// between runs.
type counted struct {
	Sum   float64 `json:"sum"`
	Count int     `json:"-"`
}

func TestNewRefusesPartialsThatLoseAField(t *testing.T) {
	definition := Definition[struct{}, counted, int]{
		Name: "hidden", Version: "1",
		Plan:   func(context.Context, struct{}) (Plan, error) { return Plan{Partitions: 1}, nil },
		Open:   func(context.Context, struct{}, Plan) (Mapper[counted], error) { return nil, nil },
		Merge:  func(l, r counted) (counted, error) { return counted{l.Sum + r.Sum, l.Count + r.Count}, nil },
		Finish: func(_ context.Context, _ struct{}, r counted) (int, error) { return r.Count, nil },
	}
	if _, err := New(definition); err == nil || !strings.Contains(err.Error(), "define job hidden: the default codec cannot encode partials: counted.Count is not encoded") {
		t.Errorf("New: %v", err)
	}
	definition.Codec = countedCodec{}
	if _, err := New(definition); err != nil {
		t.Errorf("a definition with a codec: %v", err)
	}
}

type countedCodec struct{}

func (countedCodec) Encode(counted) ([]byte, error) { return nil, nil }
func (countedCodec) Decode([]byte) (counted, error) { return counted{}, nil }

func TestResultIsJSON(t *testing.T) {
	for _, v := range []any{
		0, "",
		[]string{},
		map[string]int{},
		map[int][]byte{},
		struct{}{},
		time.Time{},
		big.Int{},
		netip.Addr{},
		everything{},
		tree{},
		struct {
			A      int `json:"a"`
			hidden int
			B      func() `json:"-"`
			C      any
		}{},
		struct {
			everything
			I int
		}{},
	} {
		if err := resultIsJSON(reflect.TypeOf(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{inner2{}, "inner2 has fields and none is exported"},
		{[]inner2{}, "T[] has fields and none"},
		{struct {
			A int `json:"B"`
			B int
		}{}, `T.A and T.B are both encoded as "B"`},
		{struct{ A *func() }{}, "T has a part of type func()"},
		{map[[2]int]int{}, "T has a part of type map[[2]int]int"},
		{1i, "complex128"},
	} {
		if err := resultIsJSON(reflect.TypeOf(c.value)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: got %v, want an error with %q", c.value, err, c.want)
		}
	}
}
