// Package parameter lists the fields of a parameter struct, which jobs.Definition describes.
package parameter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Field is a field that declares a parameter. Its Index is the path from the outermost struct.
type Field struct {
	Parameter string // name of the parameter
	reflect.StructField
}

// OmitEmpty reports whether an empty value of the field is not stored.
func (f Field) OmitEmpty() bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return slices.Contains(strings.Split(options, ","), "omitempty")
}

// Fields returns the parameters that the fields of a struct and of its embedded structs declare, in
// the order of the job's list.
func Fields(t reflect.Type) (list []Field, err error) {
	var last []string
	if list, last, err = collect(t, nil); err != nil {
		return nil, err
	}
	if list, err = promote(t, list); err != nil {
		return nil, err
	}
	for _, name := range last {
		at := slices.IndexFunc(list, func(f Field) bool { return f.Parameter == name })
		if at < 0 {
			return nil, fmt.Errorf("tag last: there is no parameter %s", name)
		}
		moved := list[at]
		list = append(slices.Delete(list, at, at+1), moved)
	}
	return list, nil
}

// Embedded reports whether the fields of a field are parameters of the struct around it. As in
// encoding/json, a struct with a name in its tag is not embedded.
func Embedded(f reflect.StructField) bool {
	return f.Anonymous && f.Type.Kind() == reflect.Struct && tagName(f) == ""
}

// collect returns all fields, also those that other fields hide, and the names in tags last.
func collect(t reflect.Type, index []int) (list []Field, last []string, err error) {
	for i := range t.NumField() {
		f := t.Field(i)
		f.Index = append(slices.Clone(index), i)
		switch {
		case !f.IsExported():
			return nil, nil, fmt.Errorf("parameter field %s: want an exported field", f.Name)
		case Embedded(f):
			inner, innerLast, err := collect(f.Type, f.Index)
			if err != nil {
				return nil, nil, err
			}
			list, last = append(list, inner...), slices.Concat(last, innerLast, strings.Fields(f.Tag.Get("last")))
		case f.Anonymous && tagName(f) == "":
			return nil, nil, fmt.Errorf("parameter field %s: only a struct can be embedded", f.Name)
		default:
			name := tagName(f)
			if name == "" {
				name = strings.ToLower(f.Name)
			}
			list = append(list, Field{name, f})
		}
	}
	return list, last, nil
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// promote removes each field that is hidden by a field of the same parameter at a lower depth.
func promote(t reflect.Type, all []Field) (list []Field, err error) {
	for i, f := range all {
		if slices.ContainsFunc(all, func(o Field) bool { return o.Parameter == f.Parameter && len(o.Index) < len(f.Index) }) {
			continue
		}
		twin := slices.IndexFunc(all[:i], func(o Field) bool { return o.Parameter == f.Parameter && len(o.Index) == len(f.Index) })
		if twin >= 0 {
			return nil, fmt.Errorf("parameter %s is declared twice, by the fields %s and %s", f.Parameter, path(t, all[twin].Index), path(t, f.Index))
		}
		list = append(list, f)
	}
	return list, nil
}

// path returns the names of a field and of the embedded structs that contain it.
func path(t reflect.Type, index []int) string {
	var names []string
	for i := range index {
		names = append(names, t.FieldByIndex(index[:i+1]).Name)
	}
	return strings.Join(names, ".")
}
