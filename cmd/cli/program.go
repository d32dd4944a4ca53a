package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec"
)

const guardCommand = "exec-guard"

// ExecGuard returns the guard for [exec.Define] in a program that calls [Main]: this program, started
// with a hidden command.
func ExecGuard() *exec.Guard {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return exec.NewGuard(program, guardCommand)
}

// execGuardCommand returns the command for the guard process.
func (a *app) execGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:    guardCommand,
		Hidden: true,
		Args:   wantArgs(0, 0),
		Run:    func(*cobra.Command, []string) { exec.GuardMain(a.In) },
	}
}

// commandParameter is the parameter that takes the arguments behind "--".
const commandParameter = "command"

// wantJob checks the arguments of a command that takes a job, and perhaps "--" and the command of the
// job.
func wantJob(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	return wantArgs(1, 1)(cmd, args)
}

// commandPair returns the parameter that the arguments behind "--" set, if there are any.
func commandPair(job jobs.Job, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if !slices.ContainsFunc(job.Parameters(), func(p jobs.Parameter) bool { return p.Name == commandParameter }) {
		return nil, usagef("job %s takes no arguments behind --: it has no parameter %q", job.Name(), commandParameter)
	}
	command, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode the arguments behind --: %w", err)
	}
	return []string{commandParameter + "=" + string(command)}, nil
}
