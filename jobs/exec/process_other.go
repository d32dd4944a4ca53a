//go:build !linux

package exec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/bellwether-compute/bellwether/jobs/exec/account"
)

var errNeedsLinux = fmt.Errorf("run a program: %w: it needs Linux", errors.ErrUnsupported)

func ownGroup(*exec.Cmd) {}

// setAttributes makes the start of the program fail, because the job needs Linux.
func setAttributes(cmd *exec.Cmd, _ *account.Account) { cmd.Err = errNeedsLinux }

func confine(cmd *exec.Cmd) (ended <-chan struct{}, err error) { return nil, cmd.Start() }

func unread(*os.File) int { return 0 }

func enlarge(io.Writer) {}

func killGroup(int) {}

func adopt() error { return nil }

type family struct{}

func newFamily(int, string) *family { return &family{} }

func (*family) memory() int64 { return 0 }

func (*family) terminate() {}

func (*family) kill() {}

func (*family) end() {}

func killInside(string) bool { return false }

type cgroup struct{}

func delegated() string { return "" }

func newCgroup(string, int64) (*cgroup, error) { return nil, errNeedsLinux }

func (*cgroup) contain(*exec.Cmd) {}

func (*cgroup) exceeded() bool { return false }

func (*cgroup) close() {}

func owns(*account.Account, os.FileInfo) bool { return false }
