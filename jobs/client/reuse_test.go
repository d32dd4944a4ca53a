package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
)

// TestReuseIsRefused checks that a job with estimates is refused with reuse, and accepted without either.
func TestReuseIsRefused(t *testing.T) {
	job := jobs.MustNew(montecarlo.Definition)
	if _, err := (client.SubmitOptions{Keep: 1}).Check(job); !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "a job with estimates cannot reuse partials") {
		t.Errorf("with reuse: %v", err)
	}
	if _, err := (client.SubmitOptions{}).Check(job); err != nil {
		t.Errorf("without reuse: %v", err)
	}
}
