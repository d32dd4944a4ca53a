package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestMessagesNameTheProgram runs a program of another name and checks that its hints
// contain that name.
func TestMessagesNameTheProgram(t *testing.T) {
	say := func(args ...string) string {
		var out, errs bytes.Buffer
		Program{}.run(context.Background(), "mine", args, Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		return out.String() + errs.String()
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "--nats", "nats://127.0.0.1:1"}, "mine: no NATS server at nats://127.0.0.1:1: start one with 'mine dev'"},
		{[]string{"run"}, "See 'mine run --help'"},
		{[]string{"submit", "--help"}, "  mine submit "},
		{[]string{"version"}, "mine "},
	} {
		got := say(tt.args...)
		if !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %q, want %q in it", tt.args, got, tt.want)
		}
		if rest := strings.ReplaceAll(got, "BELLWETHER_", ""); strings.Contains(rest, "'bellwether") || strings.Contains(rest, "  bellwether") {
			t.Errorf("%v: names another program: %q", tt.args, got)
		}
	}
}
