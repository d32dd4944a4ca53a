// Portable runs the job montecarlo with the parameters in its arguments and writes the result to
// standard output. TestReadmeHash compiles it for WebAssembly.
package main

import (
	"context"
	"os"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
)

func main() {
	job := jobs.MustNew(montecarlo.Definition)
	params, err := job.Params(nil, os.Args[1:]...)
	if err != nil {
		panic(err)
	}
	done, err := jobs.Local{Slots: 1}.Run(context.Background(), job, params)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(done.Result)
}
