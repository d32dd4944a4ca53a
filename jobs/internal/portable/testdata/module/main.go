// Module runs the job that its first argument names, with the parameters in the other arguments, and writes the result
// to standard output. TestSameBytes compiles it for WebAssembly.
package main

import (
	"context"
	"os"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/montecarlo"
	"github.com/bellwether-compute/bellwether/jobs/primes"
	"github.com/bellwether-compute/bellwether/jobs/probe"
)

func main() {
	for _, job := range []jobs.Job{jobs.MustNew(montecarlo.Definition), jobs.MustNew(primes.Definition), jobs.MustNew(probe.Definition)} {
		if job.Name() == os.Args[1] {
			run(job, os.Args[2:])
			return
		}
	}
	panic("no job " + os.Args[1])
}

func run(job jobs.Job, pairs []string) {
	params, err := job.Params(nil, pairs...)
	if err != nil {
		panic(err)
	}
	done, err := jobs.Local{Slots: 1}.Run(context.Background(), job, params)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(done.Result)
}
