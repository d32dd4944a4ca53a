package jobs

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"
)

// fill describes how to make a test value of a type. The values include empty maps and NaNs, which
// some encodings change.
type fill struct {
	pointers   bool // true if pointers in the value are not nil
	containers int  // state of slices and maps: 0 means nil, 1 means empty, and 2 means one element
	numbers    numbers

	left   *int // remaining number of values to set, which bounds the time for large types and for types with many nested fields
	within []reflect.Type
}

type numbers uint8

const (
	zeros numbers = iota
	ordinary
	lowest // numbers are the lowest of their type, or negative zero
	highest
	strange // all floats are NaN
)

// fills lists the kinds of test values that roundTrips encodes and decodes.
var fills = []fill{
	{},
	{pointers: true},
	{pointers: true, containers: 1, numbers: lowest},
	{pointers: true, containers: 2, numbers: ordinary},
	{pointers: true, containers: 2, numbers: highest},
	{pointers: true, containers: 2, numbers: strange},
	{containers: 2, numbers: lowest},
}

const (
	maxFilledBytes  = 64 << 10 // maximum size of a type that is tested, because testing a larger type would delay the program's start
	maxFilledValues = 10_000
)

// roundTrips encodes and decodes values of type t and compares them bit by bit. If encodesItself is
// true, methods of the type encode the values; if such a method refuses a test value, roundTrips
// returns no error.
func roundTrips(t reflect.Type, encodesItself bool) error {
	if t.Size() > maxFilledBytes {
		return nil
	}
	for _, f := range fills {
		before := f.value(t)
		data, err := marshal(before)
		if err != nil {
			if encodesItself {
				continue
			}
			return fmt.Errorf("%s: encode a value of the type: %w", typePath(t), err)
		}
		after, err := unmarshal(data, t)
		if err != nil {
			if encodesItself {
				continue
			}
			return fmt.Errorf("%s: decode an encoded value of the type: %w", typePath(t), err)
		}
		if path, what := difference(before, after); what != "" {
			return fmt.Errorf("%s%s: a value is changed by encoding and decoding: %s; want another type, or a definition with a Codec", typePath(t), path, what)
		}
	}
	return nil
}

func (f fill) value(t reflect.Type) reflect.Value {
	left := maxFilledValues
	f.left = &left
	v := reflect.New(t).Elem()
	f.set(v)
	return v
}

func (f fill) set(v reflect.Value) {
	t := v.Type()
	depth := 0
	for _, w := range f.within {
		if w == t {
			depth++
		}
	}
	if *f.left--; *f.left < 0 || depth > 1 || !v.CanSet() {
		return
	}
	f.within = append(f.within[:len(f.within):len(f.within)], t)
	if itself, _ := encodesItself("", t); itself {
		f.setItself(v)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.numbers != zeros)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		lowest := int64(-1) << (t.Bits() - 1)
		v.SetInt([...]int64{0, f.next(), lowest, ^lowest, -1}[f.numbers])
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([...]uint64{0, uint64(f.next()), 0, 1<<t.Bits() - 1, 1}[f.numbers])
	case reflect.Float32, reflect.Float64:
		v.SetFloat([...]float64{0, float64(f.next()) + 0.25, math.Copysign(0, -1), math.Inf(1), math.NaN()}[f.numbers])
	case reflect.String:
		if f.numbers != zeros && f.numbers != lowest {
			v.SetString("é" + strconv.FormatInt(f.next(), 10))
		}
	case reflect.Pointer:
		if f.pointers && depth == 0 {
			v.Set(reflect.New(t.Elem()))
			f.set(v.Elem())
		}
	case reflect.Slice:
		if f.containers > 0 {
			v.Set(reflect.MakeSlice(t, f.length(depth), f.length(depth)))
		}
		f.elements(v)
	case reflect.Array:
		f.elements(v)
	case reflect.Map:
		if f.containers == 0 {
			return
		}
		v.Set(reflect.MakeMap(t))
		if f.length(depth) > 0 {
			key, element := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			f.set(key)
			f.set(element)
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f.set(v.Field(i))
		}
	}
}

// next returns a number that differs from the previous number and fits every numeric type.
func (f fill) next() int64 { return int64(*f.left%100) + 1 }

func (f fill) length(depth int) int { return min(max(f.containers-1, 0), 1-min(depth, 1)) }

func (f fill) elements(v reflect.Value) {
	for i := range v.Len() {
		if *f.left < 0 {
			return
		}
		f.set(v.Index(i))
	}
}

func (f fill) setItself(v reflect.Value) {
	switch {
	case f.numbers == zeros:
	case v.Type() == timeType:
		v.Set(reflect.ValueOf(time.Unix(1e9+f.next(), 123456789)))
	case v.Type() == bigIntType:
		n := big.NewInt(-f.next())
		v.Addr().Interface().(*big.Int).Lsh(n, 100)
	}
}

// difference compares two values bit by bit. All NaNs count as equal. The path leads to the first
// difference, and does not include the name of the type.
func difference(a, b reflect.Value) (path, what string) {
	if itself, _ := encodesItself("", a.Type()); itself {
		first, err := marshal(a)
		second, err2 := marshal(b)
		if err == nil && err2 == nil && !bytes.Equal(first, second) {
			return "", "its encoding is another one"
		}
		return "", ""
	}
	if !sameShape(a, b) {
		return "", fmt.Sprintf("%s becomes %s", describeValue(a), describeValue(b))
	}
	switch a.Kind() {
	case reflect.Pointer:
		if !a.IsNil() {
			return difference(a.Elem(), b.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range a.Len() {
			if path, what := difference(a.Index(i), b.Index(i)); what != "" {
				return "[]" + path, what
			}
		}
	case reflect.Map:
		x, y := a.MapRange(), b.MapRange() // each of the maps has at most one element
		for x.Next() && y.Next() {
			if path, what := difference(x.Key(), y.Key()); what != "" {
				return "[key]" + path, what
			}
			if path, what := difference(x.Value(), y.Value()); what != "" {
				return "[]" + path, what
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if name == "_" {
				continue
			}
			if path, what := difference(a.Field(i), b.Field(i)); what != "" {
				return "." + name + path, what
			}
		}
	}
	return "", ""
}

// sameShape reports whether two values of one type are the same, apart from the values in them.
func sameShape(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		x, y := a.Float(), b.Float()
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	case reflect.Pointer:
		return a.IsNil() == b.IsNil()
	case reflect.Slice, reflect.Map:
		return a.Len() == b.Len() && a.IsNil() == b.IsNil()
	case reflect.Array, reflect.Struct:
		return true
	}
	return a.Equal(b)
}

func describeValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return "a pointer"
		}
		return "nil"
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return "nil"
		}
		return fmt.Sprintf("a %v of length %d", v.Kind(), v.Len())
	}
	return fmt.Sprint(v)
}
