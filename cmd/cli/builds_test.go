package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/client"
)

func TestWarnsOfMixedBuilds(t *testing.T) {
	var errs, out bytes.Buffer
	a := &app{App: &console.App{Name: "mine", Streams: Streams{Err: &errs}}}
	a.warnOfBuilds([]client.Worker{{Build: "amd64/v1 go1.26.0"}, {Build: "amd64/v1 go1.26.0"}})
	if errs.Len() > 0 {
		t.Errorf("workers of one build: %q", errs.String())
	}
	a.warnOfBuilds([]client.Worker{{Build: "amd64/v3 go1.26.0"}, {Build: "amd64/v1 go1.26.0"}, {Build: "amd64/v3 go1.26.0"}})
	if want := "mine: warning: workers of different builds may round floats differently: 1 of amd64/v1 go1.26.0, 2 of amd64/v3 go1.26.0\n"; errs.String() != want {
		t.Errorf("got %q, want %q", errs.String(), want)
	}

	status := client.Status{Builds: []string{"amd64/v1 go1.26.0"}}
	statusTable(&out, status, 0)
	answer.NewOutcome(client.Outcome{Status: status}).Table(&out)
	if strings.Contains(out.String(), "builds") {
		t.Errorf("a job of one build: %q", out.String())
	}
	out.Reset()
	status.Builds = append(status.Builds, "amd64/v3 go1.26.0")
	statusTable(&out, status, 0)
	answer.NewOutcome(client.Outcome{Status: status}).Table(&out)
	if strings.Count(out.String(), "builds\tamd64/v1 go1.26.0; amd64/v3 go1.26.0: floats may differ") != 2 {
		t.Errorf("a job of two builds: %q", out.String())
	}
}
