package jobs

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs/internal/parameter"
)

// Parameter describes one parameter of a job.
type Parameter struct {
	Name    string `json:"name"`
	Type    string `json:"type"`            // type of the parameter: integer, number, string, boolean or duration
	Default string `json:"default"`         // default value in the form in which a user would write it
	Takes   string `json:"takes,omitempty"` // allowed range or allowed values
	Help    string `json:"help,omitempty"`  // description of the parameter in one line

	Required bool   `json:"required,omitempty"` // true if the parameter has no default
	field    []int  // index of the field in the struct of parameters, as in reflect.Value.FieldByIndex
	min      string // values of the field's tags min, max and oneof
	max      string
	oneOf    []string
	omit     bool // true if the stored form has no member for the empty value
}

var parameterForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// describe returns the parameters that the fields of a parameter struct declare. The fields' tags
// are described at [Definition].
func describe(defaults any) ([]Parameter, error) {
	t := reflect.TypeOf(defaults)
	if t == nil || t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("parameters of type %T: want a struct", defaults)
	}
	v := reflect.New(t).Elem()
	v.Set(reflect.ValueOf(defaults))
	fields, err := parameter.Fields(t)
	if err != nil {
		return nil, err
	}
	var list []Parameter
	for _, f := range fields {
		p, err := describeField(f)
		if err != nil {
			return nil, fmt.Errorf("parameter field %s: %w", f.Name, err)
		}
		if p.Help == "" {
			p.Help = help(v.FieldByIndex(f.Index[:len(f.Index)-1]), p.Name)
		}
		if p.omit && !v.FieldByIndex(f.Index).IsZero() {
			return nil, fmt.Errorf("parameter field %s: tag omitempty with another default than the empty value: remove one of them", f.Name)
		}
		p.Default = formatParameter(v.FieldByIndex(f.Index))
		list = append(list, p)
	}
	return list, nil
}

// Describer is an optional interface of a parameter struct and of each struct that it embeds. Describe
// returns the description of a parameter whose field has no tag help, for example because a table
// determines it.
type Describer interface {
	Describe(parameter string) (help string)
}

// help returns the description of a parameter by the struct that declares it.
func help(owner reflect.Value, name string) string {
	if d, ok := owner.Addr().Interface().(Describer); ok {
		return d.Describe(name)
	}
	return ""
}

func describeField(f parameter.Field) (Parameter, error) {
	p := Parameter{
		Name:  f.Parameter,
		field: f.Index,
		Type:  parameterType(f.Type),
		Help:  f.Tag.Get("help"),
		min:   f.Tag.Get("min"),
		max:   f.Tag.Get("max"),
		oneOf: strings.Fields(f.Tag.Get("oneof")),

		Required: f.Tag.Get("required") == "true",
		omit:     f.OmitEmpty(),
	}
	if !parameterForm.MatchString(p.Name) {
		return p, fmt.Errorf("name %q: want letters, digits, dashes and underscores, the first a letter", p.Name)
	}
	if p.Type == "" {
		return p, fmt.Errorf("type %s: want an integer, float, string, bool or time.Duration", f.Type)
	}
	if len(p.oneOf) > 0 && p.Type != "string" {
		return p, fmt.Errorf("tag oneof on type %s: want a string", f.Type)
	}
	if p.Required && p.Type != "string" {
		return p, fmt.Errorf("tag required on type %s: want a string", f.Type)
	}
	if p.omit && p.Type == "number" {
		return p, fmt.Errorf("tag omitempty on type %s, in which -0 would become 0: remove it", f.Type)
	}
	for _, bound := range []string{p.min, p.max} {
		if bound == "" {
			continue
		}
		if err := setParameter(reflect.New(f.Type).Elem(), bound); err != nil || p.Type == "string" || p.Type == "boolean" {
			return p, fmt.Errorf("bound %q: want a value of type %s", bound, f.Type)
		}
	}
	if p.min == "" && reflect.Zero(f.Type).CanUint() {
		p.min = "0" // Takes then shows the lower bound of an unsigned integer
	}
	p.Takes = p.takes()
	return p, nil
}

var durationType = reflect.TypeFor[time.Duration]()

func parameterType(t reflect.Type) string {
	v := reflect.Zero(t)
	switch {
	case t == durationType:
		return "duration"
	case t.Kind() == reflect.Uintptr:
		return ""
	case v.CanInt(), v.CanUint():
		return "integer"
	case v.CanFloat():
		return "number"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Bool:
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
	case p.Required:
		return "required"
	}
	return ""
}

// errGot returns the error for a value that is not allowed for the parameter. The error quotes only the
// beginning of a long value.
func (p Parameter) errGot(got string) error {
	const most = 100
	if len(got) > most {
		got = strings.ToValidUTF8(got[:most], "") + "..."
	}
	want := "a " + p.Type
	switch {
	case p.Type == "integer":
		want = "an integer"
	case p.Type == "duration":
		want = "a duration such as 1.5s"
	case len(p.oneOf) > 0:
		return fmt.Errorf("parameter %s: got %s, takes %s", p.Name, got, p.Takes)
	}
	if p.Takes != "" {
		want += ", " + p.Takes
	}
	return fmt.Errorf("parameter %s: got %s, takes %s", p.Name, got, want)
}

// check returns an error for a value that the parameter does not allow. A value that check allows does not
// change when it is written as JSON and read back.
func (p Parameter) check(v reflect.Value) error {
	switch {
	case p.Type == "string" && !utf8.ValidString(v.String()):
		return p.errGot(strconv.Quote(v.String()) + ", which is not UTF-8")
	case len(p.oneOf) > 0 && !slices.Contains(p.oneOf, v.String()):
		return p.errGot(strconv.Quote(v.String()))
	case p.Type == "number" && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		return p.errGot(formatParameter(v))
	}
	if p.min != "" && compare(v, boundOf(v.Type(), p.min)) < 0 || p.max != "" && compare(v, boundOf(v.Type(), p.max)) > 0 {
		return p.errGot(formatParameter(v))
	}
	return nil
}

// boundOf parses the value of a min or max tag.
func boundOf(t reflect.Type, text string) reflect.Value {
	v := reflect.New(t).Elem()
	if err := setParameter(v, text); err != nil {
		panic(err) // cannot happen, because describeField has checked the tag
	}
	return v
}

// compare compares two numbers of one type like cmp.Compare.
func compare(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	default:
		return cmp.Compare(a.Float(), b.Float())
	}
}

// setParameter parses a value that a user wrote. Numbers may contain underscores, and
// may be written like 5e9, 10M or 64MiB.
func setParameter(v reflect.Value, text string) error {
	number := strings.ReplaceAll(text, "_", "")
	switch {
	case v.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		v.SetInt(int64(d))
	case v.CanInt():
		n, err := strconv.ParseInt(writeOut(number), 10, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(writeOut(number), 10, v.Type().Bits())
		if err != nil {
			return err
		}
		v.SetUint(n)
	case v.CanFloat():
		f, err := strconv.ParseFloat(number, v.Type().Bits())
		if err != nil {
			f, err = strconv.ParseFloat(writeOut(number), v.Type().Bits())
		}
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

// formatParameter returns a value as text from which setParameter reads the same value.
func formatParameter(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return time.Duration(v.Int()).String()
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	}
	return v.String()
}
