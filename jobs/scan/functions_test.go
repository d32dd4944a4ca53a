package scan

import (
	"fmt"
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
