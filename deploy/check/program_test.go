package check

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// program is Bellwether, as the Dockerfile builds it.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bellwether-")
		if err == nil {
			defer os.RemoveAll(dir)
			program = filepath.Join(dir, "bellwether")
			err = buildImageProgram(root, program)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// root is the repository's.
const root = "../.."

// checkCommand has the program parse a command line without doing what it says.
func checkCommand(t *testing.T, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Fatal("a command line is empty")
	}
	if err := run(program, slices.Concat(args, []string{"--help"})...); err != nil {
		t.Errorf("%v is refused: %v", args, err)
	}
}

// splitFlags makes one argument of a flag and its value.
func splitFlags(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if strings.HasPrefix(arg, "--") && !strings.Contains(arg, "=") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			arg += "=" + args[i]
		}
		joined = append(joined, arg)
	}
	return joined
}

func run(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

var variable = regexp.MustCompile(`\b(?:BELLWETHER|NATS|AZURE)_[A-Z_]+\b`)

// checkVariables holds variables of a worker's environment against those that its
// help knows.
func checkVariables(t *testing.T, names []string) {
	t.Helper()
	help, err := exec.Command(program, "worker", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := variable.FindAllString(string(help), -1)
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("the environment has %s, which 'worker --help' does not know", name)
		}
	}
}

// afterDrain is what a worker may take to end after its drain: to give up what was
// cancelled, to write the last checkpoints and to hand over.
const afterDrain = 10 * time.Second

// checkGrace holds the time after which a worker is killed against the drain that it
// is started with.
func checkGrace(t *testing.T, args []string, grace time.Duration) {
	t.Helper()
	drain, err := flagDuration(args, "--drain-timeout")
	if err != nil {
		t.Error(err)
	} else if grace < drain+afterDrain {
		t.Errorf("a worker is killed after %v: with %v to drain, it needs %v", grace, drain, drain+afterDrain)
	}
}

func flagDuration(args []string, flag string) (time.Duration, error) {
	for _, arg := range splitFlags(args) {
		if name, value, _ := strings.Cut(arg, "="); name == flag {
			return time.ParseDuration(value)
		}
	}
	return 0, errors.New(flag + " is not given")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
