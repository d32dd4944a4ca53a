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
