package answer

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

// TestText checks that a table ends with the text of a result as it is, and that JSON escapes it.
func TestText(t *testing.T) {
	const text = "a\tlong key\t1\n\x1b[1m\"quoted\"\nno newline"
	result, err := json.Marshal(map[string]any{"size": 3, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	show := func(format console.OutputFormat, result string) string {
		var out bytes.Buffer
		a := &console.App{Output: format}
		a.Out = &out
		if err := (Outcome{State: client.Completed, Result: json.RawMessage(result)}).Show(a); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	table := show(console.OutputTable, string(result))
	if !strings.HasSuffix(table, "\nsize  3\n\n"+text) || strings.Contains(table, "text  ") {
		t.Errorf("got %q, want the text at the end, unchanged", table)
	}
	if got := show(console.OutputJSON, string(result)); !strings.Contains(got, `"text":"a\tlong key\t1\n`) {
		t.Errorf("got %q, want escaped text", got)
	}
	for result, want := range map[string]string{`{"text":5}`: "text  5\n", `{"text":""}`: "text  \n", `[1]`: "result  [1]\n"} {
		if got := show(console.OutputTable, result); !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q, want the end %q", result, got, want)
		}
	}
}

// TestCSV checks a table without columns, and that a note says which columns are left out.
func TestCSV(t *testing.T) {
	for result, want := range map[string][2]string{
		`{"columns":[],"rows":[]}`: {"", ""},
		`{"columns":[{"name":"a"}],"rows":[["1"]],"omitted":["tags.list.element","\u001b[2J"]}`: {"a\n1\n", "left out, because their types cannot be read: tags.list.element, \\x1b[2J\n"},
	} {
		var out, notes bytes.Buffer
		a := &console.App{Output: console.OutputCSV}
		a.Out, a.Err = &out, &notes
		if err := (Outcome{State: client.Completed, Result: json.RawMessage(result)}).Show(a); err != nil {
			t.Fatal(err)
		}
		if out.String() != want[0] || !strings.HasSuffix(notes.String(), want[1]) || (want[1] == "") != (notes.Len() == 0) {
			t.Errorf("%s: got %q and the notes %q, want %q", result, &out, &notes, want)
		}
	}
}
