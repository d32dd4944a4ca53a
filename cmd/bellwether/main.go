// Bellwether runs a large computation on many workers. Command bellwether is the command line with
// the built-in jobs.
package main

import (
	"github.com/bellwether-compute/bellwether/cmd/cli"
	"github.com/bellwether-compute/bellwether/cmd/cli/execguard"
	"github.com/bellwether-compute/bellwether/cmd/cli/outputs"
	"github.com/bellwether-compute/bellwether/cmd/cli/wasmhost"
	"github.com/bellwether-compute/bellwether/cmd/internal/bench"
	"github.com/bellwether-compute/bellwether/cmd/internal/demo"
	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
	"github.com/bellwether-compute/bellwether/jobs/exec"
	"github.com/bellwether-compute/bellwether/jobs/glm"
	"github.com/bellwether-compute/bellwether/jobs/kmeans"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
	"github.com/bellwether-compute/bellwether/jobs/scan"
	"github.com/bellwether-compute/bellwether/jobs/wasm"
)

func main() {
	guard := execguard.Guard()
	cli.Program{
		Jobs: []jobs.Job{
			jobs.MustNew(primes.Definition), jobs.MustNew(montecarlo.Definition), jobs.MustNew(probe.Definition),
			jobs.MustNew(scan.Definition), jobs.MustNewRounds(glm.Definition), jobs.MustNewRounds(kmeans.Definition), jobs.MustNew(exec.Define(guard)), jobs.MustNew(wasm.Define(guard, wasmhost.CommandLine()...)),
		},
		Sources:  dataset.Sources(),
		Commands: []cli.Command{bench.Command, demo.Command, outputs.Command, execguard.Command, wasmhost.Command},
	}.Main()
}
