package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/jobs"
)

func TestDemoNeedsItsJob(t *testing.T) {
	var out, errs bytes.Buffer
	status := cli.Run(context.Background(), []string{"demo"}, cli.Streams{Out: &out, Err: &errs}, jobs.MustNew(squares))
	if status != 2 || !strings.Contains(errs.String(), `unknown command "demo"`) {
		t.Errorf("a program without the job: status %d, %s", status, errs.String())
	}
}
