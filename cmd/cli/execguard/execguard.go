// Package execguard is the part of a command line that the jobs exec and wasm need: a second process of the program,
// which cleans up when the first one dies. Only programs whose main function names the
// package contain it:
//
//	cli.Program{
//		Jobs:     []jobs.Job{jobs.MustNew(exec.Define(execguard.Guard()))},
//		Commands: []cli.Command{execguard.Command},
//	}.Main()
package execguard

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

const name = "exec-guard"

// Guard returns the guard for [exec.Define]. The guard process runs this program with the hidden
// command of [Command].
func Guard() *exec.Guard {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return exec.NewGuard(program, name)
}

// Command returns the hidden command that the guard process runs.
func Command(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:    name,
		Hidden: true,
		Args:   console.WantArgs(0, 0),
		Run:    func(*cobra.Command, []string) { exec.GuardMain(a.In) },
	}
}
