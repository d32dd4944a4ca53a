package scan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// scalarFunction is a function of expressions that package expr does not have.
type scalarFunction struct {
	name  string
	form  string // form of a call
	least int    // smallest number of arguments
	most  int    // largest number of arguments
	texts bool   // true if columns that are arguments are texts, also if they are numbers

	returns string // type of the results, if it is always the same; otherwise empty
	help    string
	part    func(t time.Time) int // computes the result from a time, instead of call
	call    func(m *meter, args []any) (any, error)
}

// scalars is the table of these functions.
var scalars = []scalarFunction{
	{name: "year", form: "year(t)", least: 1, most: 1, texts: true, returns: "integer", help: "of a time or a date", part: time.Time.Year},
	{name: "month", form: "month(t)", least: 1, most: 1, texts: true, returns: "integer", help: "1 to 12", part: func(t time.Time) int { return int(t.Month()) }},
	{name: "day", form: "day(t)", least: 1, most: 1, texts: true, returns: "integer", help: "day of the month", part: time.Time.Day},
	{name: "hour", form: "hour(t)", least: 1, most: 1, texts: true, returns: "integer", help: "0 to 23", part: time.Time.Hour},
	{name: "minute", form: "minute(t)", least: 1, most: 1, texts: true, returns: "integer", help: "0 to 59", part: time.Time.Minute},
	{name: "second", form: "second(t)", least: 1, most: 1, texts: true, returns: "integer", help: "0 to 59", part: time.Time.Second},
	{name: "date_trunc", form: "date_trunc(unit, t)", least: 2, most: 2, texts: true, help: "the beginning of the unit that contains a time", call: dateTrunc},
	{name: "date_diff", form: "date_diff(unit, t, u)", least: 3, most: 3, texts: true, returns: "integer", help: "number of units that begin after t until u", call: dateDiff},
	{name: "like", form: "like(x, pattern)", least: 2, most: 2, texts: true, returns: "boolean", help: "% in the pattern: any text, _: any character", call: (*meter).like},
	{name: "regexp_replace", form: "regexp_replace(x, pattern, by)", least: 3, most: 3, texts: true, returns: "text", help: "all matches; $1 in by: the first group", call: (*meter).regexpReplace},
	{name: "json", form: "json(x, path)", least: 2, most: 2, texts: true, returns: "text", help: "the member with a path such as 'a.b' of a JSON object", call: (*meter).json},
	{name: "coalesce", form: "coalesce(x, y, …)", least: 1, most: 100, help: "the first value that is not missing", call: coalesce},
}

// scalarNamed returns the function with a name, or nil.
func scalarNamed(name string) *scalarFunction {
	for i := range scalars {
		if scalars[i].name == name {
			return &scalars[i]
		}
	}
	return nil
}

// functionNames lists the functions that an expression may call.
func functionNames() string {
	list := slices.Clone(builtins)
	for _, f := range scalars {
		list = append(list, f.name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// run calls the function with arguments that have the right number.
func (f *scalarFunction) run(m *meter, args []any) (any, error) {
	if f.texts {
		for i, a := range args {
			if _, ok := a.(string); !ok {
				return nil, fmt.Errorf("argument %d of %s is %v: want a text", i+1, f.form, a)
			}
		}
	}
	if f.part != nil {
		t, err := timeOf(args[0].(string))
		return float64(f.part(t)), err
	}
	return f.call(m, args)
}

// json returns a member of the JSON object in a text.
func (m *meter) json(args []any) (any, error) {
	text, path := args[0].(string), args[1].(string)
	if err := m.use(2 * int64(len(text)+len(path))); err != nil || text == "" {
		return nil, err
	}
	if m.member == nil || m.member.Path() != path {
		m.member = dataset.NewJSONMember(path)
	}
	field, err := m.member.Find([]byte(text))
	if err != nil || field == nil {
		return nil, err
	}
	return string(field), nil
}

func coalesce(_ *meter, args []any) (any, error) {
	for _, a := range args {
		if a != nil && a != "" {
			return a, nil
		}
	}
	return nil, nil
}

// like reports whether a text has the form of a pattern. When the characters after a % do not match, the
// characters are compared again from the next character of the text.
func (m *meter) like(args []any) (any, error) {
	text, pattern := []rune(args[0].(string)), []rune(args[1].(string))
	if err := m.use(int64(len(text)) * int64(len(pattern))); err != nil {
		return nil, err
	}
	at, in, again, percent := 0, 0, 0, -1
	for at < len(text) {
		switch {
		case in < len(pattern) && pattern[in] == '%':
			percent, again = in, at
			in++
		case in < len(pattern) && (pattern[in] == '_' || pattern[in] == text[at]):
			at++
			in++
		case percent >= 0:
			again++
			at, in = again, percent+1
		default:
			return false, nil
		}
	}
	for in < len(pattern) && pattern[in] == '%' {
		in++
	}
	return in == len(pattern), nil
}

// regexpReplace replaces all matches of a regular expression.
func (m *meter) regexpReplace(args []any) (any, error) {
	one, err := m.matcher(args[1].(string))
	if err != nil {
		return nil, err
	}
	text, err := m.replaceAll(one, args[0].(string), args[2].(string))
	return string(text), err
}

// replaceAll replaces all matches of a regular expression in a text.
func (m *meter) replaceAll(one *matcher, text, by string) ([]byte, error) {
	if err := m.use(one.cost * int64(len(text))); err != nil {
		return nil, err
	}
	indices := 2 * int64(one.regexp.NumSubexp()+1)
	if err := m.check(int64(len(text)+1) * indices * 8); err != nil {
		return nil, err
	}
	var result []byte
	end := 0
	for _, match := range one.regexp.FindAllStringSubmatchIndex(text, -1) {
		before := len(result)
		result = append(result, text[end:match[0]]...)
		result = one.regexp.ExpandString(result, by, text, match)
		end = match[1]
		if err := m.make(int64(len(result) - before)); err != nil {
			return nil, err
		}
	}
	return append(result, text[end:]...), nil
}
