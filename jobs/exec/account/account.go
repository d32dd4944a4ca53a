// Package account finds the user as whom the job exec runs programs.
package account

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Account is the user as whom a program runs.
type Account struct {
	UID, GID uint32
	Home     string // home directory of the user; empty if it is not known
}

// Of returns the account that a value of jobs.Grant.User names. Of returns nil if
// programs run as the user of this process.
func Of(name string) (*Account, error) {
	if name == "" {
		return nil, nil
	}
	uid, gid, isPair := strings.Cut(name, ":")
	var a Account
	found, err := user.Lookup(uid)
	if err != nil {
		found, err = user.LookupId(uid)
	}
	if err == nil {
		uid, a.Home = found.Uid, found.HomeDir
		if !isPair {
			gid = found.Gid
		}
	}
	user, errUser := strconv.ParseUint(uid, 10, 32)
	group, errGroup := strconv.ParseUint(gid, 10, 32)
	if errUser != nil || errGroup != nil {
		return nil, fmt.Errorf("user %q: want the name of a user of this machine, or numbers UID:GID", name)
	}
	a.UID, a.GID = uint32(user), uint32(group)
	switch me := os.Geteuid(); {
	case me == int(a.UID) && me != 0:
		return nil, nil
	case me != 0:
		return nil, fmt.Errorf("user %q: want a worker that runs as root, because no other worker can run programs as another user; this one runs as user %d", name, me)
	}
	return &a, nil
}

// Check returns an error if this process cannot run programs as the user that a value of
// jobs.Grant.User names.
func Check(name string) error {
	_, err := Of(name)
	return err
}
