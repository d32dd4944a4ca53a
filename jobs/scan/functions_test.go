package scan

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// TestFunctions checks that each function of the table is complete, and that no two have the same name or code.
func TestFunctions(t *testing.T) {
	names, codes := map[string]bool{}, map[byte]bool{}
	for _, f := range functions {
		if f.name == "" || f.form == "" || f.takes == 0 || f.returns == "" || f.help == "" || f.new == nil {
			t.Errorf("%+v: a field is missing", f)
			continue
		}
		if names[f.name] || codes[f.code] {
			t.Errorf("%s, code %d: another function has the name or the code", f.name, f.code)
		}
		names[f.name], codes[f.code] = true, true
		if _, ok := f.new().(bulk); f.plain && !ok {
			t.Errorf("%s: its states have no method addPlain", f.name)
		}
		if f.approximates() && f.note == "" {
			t.Errorf("%s: its results may be approximate, and no note says so", f.name)
		}
		for form := range strings.SplitSeq(strings.ReplaceAll(f.form, " to ", ", "), ", ") {
			a, err := parseAggregate(strings.ReplaceAll(form, "n)", "3)"))
			if err != nil || a.name != f.name {
				t.Errorf("%s is parsed as %v: %v", form, a.function, err)
			}
		}
	}
}

// TestDirectResults checks that the text of a result is the same with and without a decoded state, and that damaged states are
// errors.
func TestDirectResults(t *testing.T) {
	checked := 0
	for _, f := range functions {
		s := f.new()
		d, ok := s.(direct)
		if !ok {
			continue
		}
		checked++
		for _, p := range []plain{
			{}, {count: 1}, {count: 3, sum: 10}, {count: 200, sum: -1234567, scale: 2}, {count: 1 << 40, sum: math.MaxInt64 - 1, scale: 1}, {count: 7, sum: 700, scale: 2},
		} {
			s.reset()
			s.grow()
			for range 3 { // the sum may be too large for an int64
				s.(bulk).addPlain(0, &p)
			}
			c, err := s.result(0, aggregate{function: &f})
			if err != nil {
				t.Fatal(err)
			}
			data := s.append(nil, 0)
			text, rest, err := d.appendResult([]byte("1,"), append(data, 5))
			if want := "1," + c.String(); err != nil || string(text) != want || string(rest) != "\x05" {
				t.Errorf("%s of %+v: got %q, rest %q, %v, want %q", f.name, p, text, rest, err, want)
			}
			for n := range data {
				if _, _, err := d.appendResult(nil, data[:n]); err == nil {
					t.Errorf("%s of %+v: got no error for %d of %d bytes", f.name, p, n, len(data))
				}
			}
			r := &shardRows{groups: groups{query: query{by: []string{"key"}}}, direct: []direct{d}}
			for _, damaged := range [][]byte{data[:len(data)-1], append(data, 5)} {
				if ok, err := r.set([]byte("a"), damaged); ok || err == nil {
					t.Errorf("%s of %+v: got %v, %v for a group with damaged states, want an error", f.name, p, ok, err)
				}
			}
		}
	}
	if checked < 3 {
		t.Errorf("the states of %d functions are direct, want those of count, sum and mean", checked)
	}
}

// TestFunctionsAreListed checks that the documentation of the package, the help of the parameter and the
// error for an unknown function list the functions of the table.
func TestFunctionsAreListed(t *testing.T) {
	var lines strings.Builder
	for _, f := range functions {
		result := f.returns
		if f.takes == numbersOrTexts {
			result += " or text"
		}
		fmt.Fprintf(&lines, "//\t%-30s%-46s%s\n", f.form, f.help, result)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "//\n"+lines.String()+"//\n") {
		t.Errorf("want in doc.go:\n%s", lines.String())
	}
	for _, p := range jobs.MustNew(Definition).Parameters() {
		if p.Name == "aggregate" && !strings.HasSuffix(p.Help, "p50(x) to p99.9(x), median(x), top(x,n), exact_distinct(x)") {
			t.Errorf("the help of the parameter is %s", p.Help)
		}
	}
	if _, err := parseAggregate("average(x)"); err == nil || !strings.HasSuffix(err.Error(), "want "+forms()) {
		t.Errorf("an unknown function: %v", err)
	}
}
