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

// These environment variables limit the calls of the job exec in this process.
const (
	// EnvPrograms names the programs that calls may run, separated by commas, as the first word of
	// the job's command. If the variable is empty or not set, calls may run all programs.
	EnvPrograms = "BELLWETHER_EXEC_PROGRAMS"
	// EnvUser names the user as whom calls run: a name, or numbers of the form UID or UID:GID. If
	// the variable is empty or not set, calls run as the user of this process.
	EnvUser = "BELLWETHER_EXEC_USER"
)

// CheckEnvironment returns an error if the value of EnvPrograms or EnvUser is not valid, or if this
// process may not run programs as the user.
func CheckEnvironment() error {
	if _, err := allowedPrograms(); err != nil {
		return err
	}
	_, err := accountOf(os.Getenv(EnvUser))
	return err
}

// allowedPrograms returns the programs that calls may run, or nil if calls may run all programs.
func allowedPrograms() ([]string, error) {
	text := os.Getenv(EnvPrograms)
	if text == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	if slices.Contains(list, "") {
		return nil, fmt.Errorf("%s %q: want names or paths of programs, separated by commas", EnvPrograms, text)
	}
	return list, nil
}

// allow returns a permanent error if calls may not run a program.
func allow(name string) error {
	list, err := allowedPrograms()
	if err != nil || list == nil || slices.Contains(list, name) {
		return err
	}
	return jobs.Permanent(fmt.Errorf("program %q: this worker runs only %s (--exec-programs)", name, strings.Join(list, ", ")))
}

// account is the user as whom a program runs.
type account struct {
	uid, gid uint32
	home     string // home directory of the user; empty if it is not known
}

// accountOf returns the account that a value of EnvUser names. accountOf returns nil if programs
// run as the user of this process.
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
		return nil, fmt.Errorf("%s %q: want the name of a user of this machine, or numbers UID:GID", EnvUser, name)
	}
	a.uid, a.gid = uint32(user), uint32(group)
	switch me := os.Geteuid(); {
	case me == int(a.uid) && me != 0:
		return nil, nil
	case me != 0:
		return nil, fmt.Errorf("%s %q: want a worker that runs as root, because no other worker can run programs as another user; this one runs as user %d", EnvUser, name, me)
	}
	return &a, nil
}
