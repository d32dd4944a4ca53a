// Package wasmhost is the part of a command line that the job wasm needs. It contains a compiler for WebAssembly,
// so only programs whose main function names the package contain it:
//
//	cli.Program{
//		Jobs:     []jobs.Job{jobs.MustNew(wasm.Define(execguard.Guard(), wasmhost.CommandLine()...))},
//		Commands: []cli.Command{execguard.Command, wasmhost.Command},
//	}.Main()
package wasmhost

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs/wasm"
)

const name = "wasm-host"

// CommandLine returns the command line of the processes in which the job wasm runs modules, for
// [wasm.Define]. The processes run this program with the hidden command of [Command].
func CommandLine() []string {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return []string{program, name}
}

// Command returns the hidden command that the processes of [CommandLine] run.
func Command(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Hidden:             true,
		DisableFlagParsing: true, // cobra must not parse the arguments of the module
		RunE:               func(_ *cobra.Command, args []string) error { return wasm.HostMain(args, os.Getenv, a.In, a.Out) },
	}
}
