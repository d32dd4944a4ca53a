package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter describes one parameter of a job, as a catalog shows it.
type Parameter struct {
	Name    string `json:"name"`
	Type    string `json:"type"`            // integer, number, string, boolean, duration
	Default string `json:"default"`         // as it would be given with -p
	Takes   string `json:"takes,omitempty"` // the range or the choices, in words
	Help    string `json:"help,omitempty"`  // one line
	field   int    // in the parameters' struct
	min     string // the tags, as written
	max     string
	oneOf   []string
}

// parameters reads the description of the parameters from the struct P: one
// parameter per exported field. Its name is the json tag, or else the field's
// name in lower case. The tags min, max (numbers and durations), oneof (strings,
// separated by spaces) and help describe it.
func parameters(defaults any) ([]Parameter, error) {
	v := reflect.ValueOf(defaults)
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters must be a struct, got %T", defaults)
	}
	var list []Parameter
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Anonymous {
			return nil, fmt.Errorf("parameter field %s must be exported and not embedded", f.Name)
		}
		p := Parameter{Name: strings.ToLower(f.Name), Help: f.Tag.Get("help"), field: i}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			p.Name = name
		}
		if p.Type = parameterType(f.Type); p.Type == "" {
			return nil, fmt.Errorf("parameter %s: type %s is not supported: use an integer, float, string, bool or time.Duration", p.Name, f.Type)
		}
		p.min, p.max, p.oneOf = f.Tag.Get("min"), f.Tag.Get("max"), strings.Fields(f.Tag.Get("oneof"))
		p.Takes = p.takes()
		p.Default = formatParameter(v.Field(i))
		for _, bound := range []string{p.min, p.max} {
			if bound == "" {
				continue
			}
			if err := setParameter(reflect.New(f.Type).Elem(), bound); err != nil || p.Type == "string" || p.Type == "boolean" {
				return nil, fmt.Errorf("parameter %s: bound %q does not fit type %s", p.Name, bound, p.Type)
			}
		}
		if slices.ContainsFunc(list, func(o Parameter) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("parameter %s is declared twice", p.Name)
		}
		list = append(list, p)
	}
	return list, nil
}

var durationType = reflect.TypeFor[time.Duration]()

func parameterType(t reflect.Type) string {
	if t == durationType {
		return "duration"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	}
	return ""
}

func (p Parameter) takes() string {
	switch {
	case len(p.oneOf) > 0:
		return "one of " + strings.Join(p.oneOf, ", ")
	case p.min != "" && p.max != "":
		return p.min + " to " + p.max
	case p.min != "":
		return "at least " + p.min
	case p.max != "":
		return "at most " + p.max
	}
	return ""
}

// want says what the parameter takes, for an error message.
func (p Parameter) want() string {
	article := "a "
	if p.Type == "integer" {
		article = "an "
	}
	if p.Takes == "" {
		return article + p.Type
	}
	if p.Type == "string" {
		return p.Takes
	}
	return article + p.Type + ", " + p.Takes
}

func (p Parameter) errGot(got string) error {
	return fmt.Errorf("parameter %s: got %s, takes %s", p.Name, got, p.want())
}

func (p Parameter) check(v reflect.Value) error {
	if len(p.oneOf) > 0 && !slices.Contains(p.oneOf, v.String()) {
		return p.errGot(strconv.Quote(v.String()))
	}
	for _, b := range []struct {
		bound string
		sign  int
	}{{p.min, -1}, {p.max, 1}} {
		if b.bound == "" {
			continue
		}
		limit := reflect.New(v.Type()).Elem()
		if err := setParameter(limit, b.bound); err != nil {
			return err
		}
		// Written so that NaN, which compares as nothing, is refused.
		if c, ok := compare(v, limit); !ok || c == b.sign {
			return p.errGot(formatParameter(v))
		}
	}
	return nil
}

func compare(a, b reflect.Value) (int, bool) {
	switch {
	case a.CanInt():
		return compareOrdered(a.Int(), b.Int())
	case a.CanUint():
		return compareOrdered(a.Uint(), b.Uint())
	default:
		return compareOrdered(a.Float(), b.Float())
	}
}

func compareOrdered[T int64 | uint64 | float64](a, b T) (int, bool) {
	switch {
	case a < b:
		return -1, true
	case a > b:
		return 1, true
	}
	return 0, a == b
}

// setParameter parses what a person wrote. Integers may be written 1e9 or
// 1_000_000.
func setParameter(v reflect.Value, text string) error {
	clean := strings.ReplaceAll(text, "_", "")
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(d))
	case v.CanInt():
		n, err := strconv.ParseInt(expand(clean), 10, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(expand(clean), 10, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetUint(n)
	case v.CanFloat():
		f, err := strconv.ParseFloat(clean, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetFloat(f)
	case v.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		v.SetBool(b)
	default:
		v.SetString(text)
	}
	return nil
}

// expand writes a power-of-ten number such as 5e9 or 1.5e6 out in digits, where
// it is a whole number; anything else stays as it is and is refused later.
func expand(text string) string {
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	e, err := strconv.Atoi(exponent)
	if !found || err != nil || e < 0 || e > 18 {
		return text
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > e || whole == "" {
		return text
	}
	return whole + fraction + strings.Repeat("0", e-len(fraction))
}

func formatParameter(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	}
	return fmt.Sprint(v.Interface())
}

// Validator is what a parameters' struct may implement to check what tags
// cannot say, such as one parameter against another.
type Validator interface{ Validate() error }

// paramsCodec decodes the parameters of one job strictly.
type paramsCodec[P any] struct {
	job      string
	defaults P
	list     []Parameter
}

// fromFlags starts from base, a JSON object or nil, and sets name=value pairs on
// top of it.
func (c paramsCodec[P]) parse(base []byte, pairs []string) (P, error) {
	p := c.defaults
	v := reflect.ValueOf(&p).Elem()
	if len(base) > 0 {
		if err := c.decodeJSON(v, base); err != nil {
			return p, fmt.Errorf("job %s: %w", c.job, err)
		}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return p, fmt.Errorf("job %s: parameter %q: want name=value", c.job, pair)
		}
		d, err := c.find(name)
		if err != nil {
			return p, fmt.Errorf("job %s: %w", c.job, err)
		}
		if err := setParameter(v.Field(d.field), value); err != nil {
			return p, fmt.Errorf("job %s: %w", c.job, d.errGot(strconv.Quote(value)))
		}
	}
	for _, d := range c.list {
		if err := d.check(v.Field(d.field)); err != nil {
			return p, fmt.Errorf("job %s: %w", c.job, err)
		}
	}
	if validator, ok := any(p).(Validator); ok {
		if err := validator.Validate(); err != nil {
			return p, fmt.Errorf("job %s: %w", c.job, err)
		}
	}
	return p, nil
}

func (c paramsCodec[P]) find(name string) (Parameter, error) {
	for _, d := range c.list {
		if d.Name == name {
			return d, nil
		}
	}
	names := make([]string, len(c.list))
	for i, d := range c.list {
		names[i] = d.Name
	}
	return Parameter{}, fmt.Errorf("unknown parameter %q, it takes: %s", name, strings.Join(names, ", "))
}

func (c paramsCodec[P]) decodeJSON(v reflect.Value, data []byte) error {
	var fields map[string]json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&fields); err != nil {
		return fmt.Errorf("parameters are not a JSON object: %w", err)
	}
	if dec.More() {
		return errors.New("parameters are followed by something else: want one JSON object")
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names) // the same error for the same input
	for _, name := range names {
		d, err := c.find(name)
		if err != nil {
			return err
		}
		if err := d.setJSON(v.Field(d.field), fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// setJSON takes a JSON number, string or boolean, as the type says; durations
// are strings such as "1.5s".
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

// encode writes the parameters in the one form that is stored: a JSON object of
// every parameter in declared order.
func (c paramsCodec[P]) encode(p P) ([]byte, error) {
	v := reflect.ValueOf(p)
	var b bytes.Buffer
	b.WriteByte('{')
	for i, d := range c.list {
		if i > 0 {
			b.WriteByte(',')
		}
		var value any = v.Field(d.field).Interface()
		if d.Type == "duration" {
			value = formatParameter(v.Field(d.field))
		}
		name, _ := json.Marshal(d.Name)
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("job %s: parameter %s: %w", c.job, d.Name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(data)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
