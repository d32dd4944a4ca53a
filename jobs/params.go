package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/internal/parameter"
)

// Params are a job's parameters in the stored form: a JSON object with every parameter, except empty ones that
// [Definition] declares with omitempty, in the order of [Job.Parameters]. [Job.Params] returns Params.
type Params json.RawMessage

// MarshalJSON returns the JSON object unchanged. Without MarshalJSON, the bytes would be
// encoded as a string.
func (p Params) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// Validator is an optional interface of a parameter struct and of each struct that it embeds.
// Validate checks conditions that tags cannot express, such as a condition between two parameters.
// The error should name the parameters.
//
// A method Validate of the outer struct does not replace those of the embedded structs: all of them
// are called, those of embedded structs first, and each must accept the parameters. A method that
// the outer struct inherits is called twice, so Validate must only check.
type Validator interface{ Validate() error }

// errMissing is the error of a required parameter without a value.
var errMissing = errors.New("the job needs a value")

// paramsCodec parses and encodes the parameters of one job.
type paramsCodec[P any] struct {
	defaults P
	list     []Parameter
}

// parse begins with the defaults, overrides them with the members of base, and then with the
// name=value pairs. The base is a JSON object or empty. If two pairs have the same name, the later
// pair is used.
func (c paramsCodec[P]) parse(base []byte, pairs []string) (P, error) {
	p := c.defaults
	v := reflect.ValueOf(&p).Elem()
	if len(base) > 0 {
		if err := c.parseJSON(v, base); err != nil {
			return p, err
		}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return p, fmt.Errorf("parameter %q: want name=value", pair)
		}
		d, err := c.find(name)
		if err != nil {
			return p, err
		}
		if setParameter(v.FieldByIndex(d.field), value) != nil {
			return p, d.errGot(strconv.Quote(value))
		}
	}
	for _, d := range c.list {
		if err := d.check(v.FieldByIndex(d.field)); err != nil {
			return p, err
		}
	}
	for _, d := range c.list {
		if d.Required && v.FieldByIndex(d.field).IsZero() {
			return p, fmt.Errorf("parameter %s: %w: %s", d.Name, errMissing, d.Help)
		}
	}
	return p, validate(v)
}

// validate calls Validate of the embedded structs of a parameter struct, and then of the struct.
func validate(v reflect.Value) error {
	for i := range v.NumField() {
		if parameter.Embedded(v.Type().Field(i)) {
			if err := validate(v.Field(i)); err != nil {
				return err
			}
		}
	}
	if validator, ok := v.Addr().Interface().(Validator); ok {
		return validator.Validate()
	}
	return nil
}

func (c paramsCodec[P]) find(name string) (Parameter, error) {
	names := make([]string, len(c.list))
	for i, d := range c.list {
		if d.Name == name {
			return d, nil
		}
		names[i] = d.Name
	}
	if len(names) == 0 {
		return Parameter{}, fmt.Errorf("unknown parameter %q: the job has no parameters", name)
	}
	return Parameter{}, fmt.Errorf("unknown parameter %q: want one of %s", name, strings.Join(names, ", "))
}

func (c paramsCodec[P]) parseJSON(v reflect.Value, data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("parameters are not a JSON object")
	}
	seen := make(map[string]bool)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fmt.Errorf("parameters are not a JSON object: %w", err)
		}
		name := key.(string) // the decoder has checked that the key is a string
		d, err := c.find(name)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("parameter %s is given twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("parameter %s: not JSON: %w", name, err)
		}
		if err := d.setJSON(v.FieldByIndex(d.field), raw); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // reads the closing brace of the object
		return fmt.Errorf("parameters are not a JSON object: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("parameters are followed by more data: want one JSON object")
	}
	return nil
}

// setJSON sets a parameter from a JSON number, string or boolean, depending on the parameter's
// type. Durations are strings such as "1.5s".
func (p Parameter) setJSON(v reflect.Value, raw json.RawMessage) error {
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return p.errGot(string(raw))
	}
	var text string
	ok := false
	switch p.Type {
	case "integer", "number":
		var n json.Number
		n, ok = value.(json.Number)
		text = string(n)
	case "boolean":
		var b bool
		b, ok = value.(bool)
		text = strconv.FormatBool(b)
	default:
		text, ok = value.(string)
	}
	if !ok || setParameter(v, text) != nil {
		return p.errGot(string(raw))
	}
	return nil
}

// encode returns the parameters in the stored form.
func (c paramsCodec[P]) encode(p P) (Params, error) {
	v := reflect.ValueOf(p)
	b := []byte{'{'}
	for _, d := range c.list {
		if d.omit && v.FieldByIndex(d.field).IsZero() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, '"'), d.Name...) // names of parameters need no escaping
		b = append(b, '"', ':')
		text := []byte(formatParameter(v.FieldByIndex(d.field)))
		if d.Type == "string" || d.Type == "duration" {
			var err error
			if text, err = encodeString(string(text)); err != nil {
				return nil, fmt.Errorf("encode parameter %s: %w", d.Name, err)
			}
		}
		b = append(b, text...)
	}
	return append(b, '}'), nil
}

// encodeString returns a string as JSON. Unlike json.Marshal, encodeString does not escape the
// characters <, > and &, because each escape sequence has six bytes.
func encodeString(s string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
