package dataset

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/azurite/azuritetest"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(azuritetest.StopAfter(m)) }

// defineOn returns the definition of a job that reads the objects of a driver.
func defineOn[P, A, R any](j Job[P, A, R], from source.Driver) jobs.Definition[P, Partial[A], R] {
	return define(j, func(context.Context) source.Driver { return from })
}
