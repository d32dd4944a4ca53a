package jobs

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// resultIsJSON returns an error if some values of the result type t cannot be encoded as JSON, or
// if package json would silently drop a field. Without resultIsJSON, Finish would report the error
// only after the whole computation. resultIsJSON does not detect single values, such as NaN, that
// JSON cannot express.
func resultIsJSON(t reflect.Type) error {
	if err := jsonKeeps(typePath(t), t, make(map[reflect.Type]bool)); err != nil {
		return err
	}
	if t.Size() > maxFilledBytes {
		return nil
	}
	_, err := marshalJSON(fill{pointers: true, containers: 2, numbers: ordinary}.value(t))
	var unsupported *json.UnsupportedTypeError
	if errors.As(err, &unsupported) {
		return fmt.Errorf("%s has a part of type %v: want a type that package json encodes", typePath(t), unsupported.Type)
	}
	return nil
}

func marshalJSON(v reflect.Value) (data []byte, err error) {
	defer recoverTo(&err) // a method of the test value may panic
	return json.Marshal(v.Interface())
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func jsonKeeps(path string, t reflect.Type, seen map[reflect.Type]bool) error {
	p := reflect.PointerTo(t)
	if seen[t] || p.Implements(jsonMarshaler) || p.Implements(textMarshaler) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKeeps(path, t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Map:
		return jsonKeeps(path+"[]", t.Elem(), seen)
	case reflect.Struct:
		names, kept := make(map[string]string), t.NumField() == 0
		for i := range t.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("json")
			kept = kept || f.IsExported() || f.Anonymous
			if tag == "-" || !f.IsExported() {
				continue
			}
			at := path + "." + f.Name
			name, _, _ := strings.Cut(tag, ",")
			if name == "" {
				name = f.Name
			}
			if other, ok := names[name]; ok && !f.Anonymous {
				return fmt.Errorf("%s and %s are both encoded as %q, so a field is lost: give each another name", other, at, name)
			}
			names[name] = at
			if err := jsonKeeps(at, f.Type, seen); err != nil {
				return err
			}
		}
		if !kept {
			return fmt.Errorf("%s has fields and none is exported, so its JSON is always {}: want exported fields", path)
		}
	}
	return nil
}
