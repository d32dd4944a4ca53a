package processes

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"syscall"
)

// Output runs a program in a folder and returns its standard output. If ctx is done, the program and
// all processes that it has started are killed. The error contains the end of the standard error.
func Output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("%w: bench/peers/install installs it", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // kills the whole process group
	var errs Tail
	cmd.Stderr = &errs
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("run %s: %w: %s", program, err, errs.String())
	}
	return out, nil
}

// Ask runs a program like [Output] and decodes its standard output, which is JSON.
func Ask(ctx context.Context, answer any, dir, program string, args ...string) error {
	out, err := Output(ctx, dir, program, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("read the output of %s: %w: %.200q", program, err, out)
	}
	return nil
}

var versionForm = regexp.MustCompile(`\s(?:v=)?([0-9]\S*)`)

// Version returns the name of a product with the first version number that a program of the product
// prints if it gets the flag --version.
func Version(ctx context.Context, name, program string) (string, error) {
	out, err := Output(ctx, "", program, "--version")
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", name, err)
	}
	found := versionForm.FindSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("ask %s for its version: got %q", name, out)
	}
	return name + " " + string(found[1]), nil
}
