package exec

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// CheckUser returns an error if this process cannot run programs as the user that a value of
// jobs.Grant.User names.
func CheckUser(name string) error {
	_, err := accountOf(name)
	return err
}

// allow returns a permanent error if calls may not run a program.
func allow(g jobs.Grant, name string) error {
	switch {
	case slices.Contains(g.Programs, name), slices.Contains(g.Programs, jobs.AnyProgram):
		return nil
	case len(g.Programs) == 0:
		return jobs.Permanent(fmt.Errorf("program %q: this worker runs no program of a job: in Go, set Grant.Programs of worker.Config or jobs.Local", name))
	}
	return jobs.Permanent(fmt.Errorf("program %q: this worker runs only %s (--exec-programs)", name, strings.Join(g.Programs, ", ")))
}

// account is the user as whom a program runs.
type account struct {
	uid, gid uint32
	home     string // home directory of the user; empty if it is not known
}

// accountOf returns the account that a value of jobs.Grant.User names. accountOf returns nil if
// programs run as the user of this process.
func accountOf(name string) (*account, error) {
	if name == "" {
		return nil, nil
	}
	uid, gid, isPair := strings.Cut(name, ":")
	var a account
	found, err := user.Lookup(uid)
	if err != nil {
		found, err = user.LookupId(uid)
	}
	if err == nil {
		uid, a.home = found.Uid, found.HomeDir
		if !isPair {
			gid = found.Gid
		}
	}
	user, errUser := strconv.ParseUint(uid, 10, 32)
	group, errGroup := strconv.ParseUint(gid, 10, 32)
	if errUser != nil || errGroup != nil {
		return nil, fmt.Errorf("user %q: want the name of a user of this machine, or numbers UID:GID", name)
	}
	a.uid, a.gid = uint32(user), uint32(group)
	switch me := os.Geteuid(); {
	case me == int(a.uid) && me != 0:
		return nil, nil
	case me != 0:
		return nil, fmt.Errorf("user %q: want a worker that runs as root, because no other worker can run programs as another user; this one runs as user %d", name, me)
	}
	return &a, nil
}
