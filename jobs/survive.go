package jobs

import (
	"bytes"
	"cmp"
	"encoding"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// shape describes which checks the encoded values of a type need.
type shape struct {
	recursive bool           // true if values can contain values of the same type, so that they can be cyclic
	unchecked bool           // true if the encoder accepts values that the decoder refuses, because of strings, map keys, deep nesting or encoding methods
	times     bool           // true if the encoder accepts times that the decoder refuses, because of years beyond 9999
	itself    []reflect.Type // types that encode themselves
}

// survives returns an error if the default codec loses a part of some value of type t, such as a
// field. Runs differ in which partials are encoded, so results would differ between runs. The error
// names the path of the lost part.
func survives(t reflect.Type) (shape, error) {
	var r rules
	if err := r.check(typePath(t), t); err != nil {
		return shape{}, err
	}
	return r.shape, roundTrips(t, len(r.shape.itself) > 0)
}

func typePath(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == "" {
		return "T" // name of the type parameter in Definition
	}
	return t.Name()
}

// rules checks types by the rules that the CBOR library applies to types and tags.
type rules struct {
	shape        shape
	within, done []reflect.Type
}

func (r *rules) check(path string, t reflect.Type) error {
	if slices.Contains(r.within, t) {
		r.shape.recursive, r.shape.unchecked = true, true
		return nil
	}
	if slices.Contains(r.done, t) {
		return nil
	}
	if itself, err := encodesItself(path, t); itself || err != nil {
		r.shape.itself, r.shape.unchecked = append(r.shape.itself, t), true
		r.shape.times = r.shape.times || t == timeType
		return err
	}
	r.within = append(r.within, t)
	defer func() {
		r.within = r.within[:len(r.within)-1]
		r.done = append(r.done, t)
	}()
	switch t.Kind() {
	case reflect.String:
		r.shape.unchecked = true
	case reflect.Pointer:
		if itself, _ := encodesItself(path, t.Elem()); !itself {
			switch t.Elem().Kind() {
			case reflect.Pointer, reflect.Slice, reflect.Map:
				return fmt.Errorf("%s is a %v: a pointer to nil is decoded as nil; want %v", path, t, t.Elem())
			}
		}
		return r.check(path, t.Elem())
	case reflect.Slice, reflect.Array:
		return r.check(path+"[]", t.Elem())
	case reflect.Map:
		r.shape.unchecked = true
		if t.Key().Kind() == reflect.Pointer {
			return fmt.Errorf("%s is a %v: its keys are decoded as other pointers; want keys of type %v", path, t, t.Key().Elem())
		}
		if err := r.check(path+"[key]", t.Key()); err != nil {
			return err
		}
		return r.check(path+"[]", t.Elem())
	case reflect.Struct:
		_, options, _ := strings.Cut(structTag(t), ",")
		s := structRules{rules: r, toArray: slices.Contains(strings.Split(options, ","), "toarray"), names: make(map[fieldName]string)}
		return s.check(path, t, []reflect.Type{t})
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer, reflect.Uintptr, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("%s is a %v: want a type that CBOR decodes to the same value, or a definition with a Codec", path, t)
	}
	return nil
}

// structTag returns the tag of a struct's special field.
func structTag(t reflect.Type) string {
	f, _ := t.FieldByName("_")
	return f.Tag.Get("cbor")
}

// structRules checks one struct, including the structs that are embedded in it, whose
// fields are encoded as fields of the outer struct.
type structRules struct {
	*rules
	toArray bool // true if the struct is encoded as an array with an element for every field
	names   map[fieldName]string
}

type fieldName struct {
	name    string
	integer bool
}

func (s structRules) check(path string, t reflect.Type, embedding []reflect.Type) error {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Name == "_" {
			continue
		}
		if err := s.field(path+"."+f.Name, f, embedding); err != nil {
			return err
		}
	}
	return nil
}

func (s structRules) field(path string, f reflect.StructField, embedding []reflect.Type) error {
	tag := f.Tag.Get("cbor")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	name, options, _ := strings.Cut(tag, ",")
	inner := f.Type
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	embedded := f.Anonymous && inner.Kind() == reflect.Struct
	switch {
	case tag == "-":
		return fmt.Errorf("%s is not encoded because of its tag %q: remove the tag, or the field", path, tag)
	case f.IsExported():
	case !embedded || name != "":
		return fmt.Errorf("%s is not encoded: want an exported field", path)
	case f.Type.Kind() == reflect.Pointer:
		return fmt.Errorf("%s cannot be decoded: want an exported type, or one that is not embedded as a pointer", path)
	}
	if embedded && name == "" {
		if itself, err := encodesItself(path, inner); itself || err != nil {
			return cmp.Or(err, fmt.Errorf("%s is embedded, so its own encoding is not used: give the field a name", path))
		}
		if slices.Contains(embedding, inner) {
			return fmt.Errorf("%s embeds its own type and is not encoded: give the field a name", path)
		}
		return s.check(path, inner, append(embedding, inner))
	}
	if name == "" {
		name = f.Name
	}
	as := fieldName{name, false}
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "keyasint":
			n, err := strconv.Atoi(name)
			if err != nil {
				return fmt.Errorf("%s has the option keyasint and the name %q: want an integer", path, name)
			}
			as = fieldName{strconv.Itoa(n), true}
		case s.toArray:
		case option == "omitempty":
			if lost := lostIfEmpty(f.Type); lost != "" {
				return fmt.Errorf("%s has the option omitempty, which %s: remove the option", path, lost)
			}
		case option == "omitzero":
			if f.Type != timeType && (f.Type.Implements(isZeroer) || reflect.PointerTo(f.Type).Implements(isZeroer)) {
				return fmt.Errorf("%s has the option omitzero, which drops each value whose IsZero returns true: remove the option", path)
			}
		}
	}
	if other, ok := s.names[as]; ok {
		return fmt.Errorf("%s and %s are both encoded as %q, so one is lost: give each another name", other, path, as.name)
	}
	s.names[as] = path
	return s.rules.check(path, f.Type)
}

func lostIfEmpty(t reflect.Type) string {
	if itself, _ := encodesItself("", t); itself {
		return ""
	}
	switch t.Kind() {
	case reflect.Float32, reflect.Float64:
		return "turns -0 into 0"
	case reflect.Slice, reflect.Map:
		return "turns an empty " + t.Kind().String() + " into nil"
	}
	return ""
}

var (
	timeType          = reflect.TypeFor[time.Time]()
	bigIntType        = reflect.TypeFor[big.Int]()
	cborMarshaler     = reflect.TypeFor[cbor.Marshaler]()
	cborUnmarshaler   = reflect.TypeFor[cbor.Unmarshaler]()
	binaryMarshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	binaryUnmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
	isZeroer          = reflect.TypeFor[interface{ IsZero() bool }]()
)

// encodesItself reports whether the library encodes values of type t with a method of the type, or
// has a special encoding for the type. Values that are encoded by a method are checked when they
// are encoded. An error means that the encoding and the decoding method do not match.
func encodesItself(path string, t reflect.Type) (bool, error) {
	if t == timeType || t == bigIntType {
		return true, nil
	}
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false, nil
	}
	p := reflect.PointerTo(t)
	for _, pair := range []struct {
		encoder, decoder reflect.Type
		encode, decode   string
	}{
		{cborMarshaler, cborUnmarshaler, "MarshalCBOR", "UnmarshalCBOR"},
		{binaryMarshaler, binaryUnmarshaler, "MarshalBinary", "UnmarshalBinary"},
	} {
		switch encodes, decodes := p.Implements(pair.encoder), p.Implements(pair.decoder); {
		case encodes && !decodes:
			return true, fmt.Errorf("%s is a %v, which has %s and not %s: want both", path, t, pair.encode, pair.decode)
		case decodes && !encodes:
			return true, fmt.Errorf("%s is a %v, which has %s and not %s: want both", path, t, pair.decode, pair.encode)
		case encodes:
			return true, promoted(path, t)
		}
	}
	return false, nil
}

// promoted returns an error for a struct that inherits an encoding method from an embedded field.
// The inherited method would encode only the embedded field and lose the other fields.
func promoted(path string, t reflect.Type) error {
	if t.Kind() != reflect.Struct || t.NumField() == 1 {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.Anonymous {
			continue
		}
		outer, inner := reflect.New(t), reflect.New(f.Type)
		if f.Type.Kind() == reflect.Pointer && f.IsExported() {
			inner = reflect.New(f.Type.Elem())
			outer.Elem().Field(i).Set(inner)
		}
		whole, err := callEncoder(outer.Interface())
		part, partErr := callEncoder(inner.Interface())
		if err == nil && partErr == nil && bytes.Equal(whole, part) {
			return fmt.Errorf("%s is encoded by a method of its embedded field %s, without its other fields: give the embedded field a name", path, f.Name)
		}
	}
	return nil
}

// callEncoder calls the method that encodes v.
func callEncoder(v any) (data []byte, err error) {
	defer recoverTo(&err)
	switch v := v.(type) {
	case cbor.Marshaler:
		return v.MarshalCBOR()
	case encoding.BinaryMarshaler:
		return v.MarshalBinary()
	}
	return nil, fmt.Errorf("%T does not encode itself", v)
}

// marshal encodes a value. If a method of the value panics, marshal returns an error.
func marshal(v reflect.Value) (data []byte, err error) {
	defer recoverTo(&err)
	return cborEncoding.Marshal(v.Interface())
}

// unmarshal decodes a value of type t.
func unmarshal(data []byte, t reflect.Type) (v reflect.Value, err error) {
	defer recoverTo(&err)
	v = reflect.New(t)
	return v.Elem(), cborDecoding.Unmarshal(data, v.Interface())
}
