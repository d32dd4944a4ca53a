package check

import (
	"errors"
	"flag"
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

const root = "../.." // root of the repository

var update = flag.Bool("update", false, "rewrite testdata/rendered")

// program is the path of the program that the Dockerfile's command builds.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bellwether-")
		if err == nil {
			defer os.RemoveAll(dir)
			program = filepath.Join(dir, "bellwether")
			err = buildProgram(root, program)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// checkCommand lets the program parse a command line without running it.
func checkCommand(t *testing.T, args []string) {
	t.Helper()
	if len(args) == 0 {
		t.Fatal("a command line is empty")
	}
	if err := run(program, slices.Concat(args, []string{"--help"})...); err != nil {
		t.Errorf("%v: %v", args, err)
	}
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

var variable = regexp.MustCompile(`\b(?:BELLWETHER|NATS|AZURE|POD)_[A-Z_]+\b`)

// checkVariables checks that 'worker --help' or 'help connection' names each environment variable.
func checkVariables(t *testing.T, names []string) {
	t.Helper()
	help, err := exec.Command(program, "worker", "--help").Output()
	if err == nil {
		var connection []byte
		connection, err = exec.Command(program, "help", "connection").Output()
		help = append(help, connection...)
	}
	if err != nil {
		t.Fatal(err)
	}
	known := variable.FindAllString(string(help), -1)
	for _, name := range names {
		if !slices.Contains(known, name) {
			t.Errorf("'worker --help' and 'help connection' do not know the variable %s", name)
		}
	}
}

// checkGrace checks that a worker is killed no sooner than ten seconds after its drain, because it
// needs this time for last checkpoints and the handover.
func checkGrace(t *testing.T, args []string, grace time.Duration) {
	t.Helper()
	drain, err := drainTimeout(args)
	if err != nil {
		t.Error(err)
	} else if least := drain + 10*time.Second; grace < least {
		t.Errorf("a worker is killed after %v: with a drain timeout of %v it needs %v", grace, drain, least)
	}
}

func drainTimeout(args []string) (time.Duration, error) {
	words := strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "=", " "))
	if i := slices.Index(words, "--drain-timeout"); i >= 0 && i+1 < len(words) {
		return time.ParseDuration(words[i+1])
	}
	return 0, errors.New("there is no --drain-timeout")
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documentFiles are the files whose commands, links and paths must be right.
var documentFiles = []string{
	"README.md", "deploy/README.md", "deploy/nats/README.md", "deploy/operations.md", "deploy/CHANGELOG.md",
	"coordinator/DESIGN.md", "bench/PROOF.md", ".github/CONTRIBUTING.md", ".github/SECURITY.md",
}

// TestDocuments lets the program parse the commands of the documents.
func TestDocuments(t *testing.T) {
	command := regexp.MustCompile("(?m)^    bellwether ([^…\n]+)$|`bellwether ([^`…\n]+)`")
	commands := 0
	for _, doc := range documentFiles {
		for _, match := range command.FindAllStringSubmatch(read(t, filepath.Join(root, doc)), -1) {
			line, _, _ := strings.Cut(match[1]+match[2], "  ") // an explanation follows the command
			line, _, _ = strings.Cut(line, " -- ")             // the command of a program follows
			if err := run("sh", "-c", `exec "$0" `+line+" --help", program); err != nil {
				t.Errorf("%s: %s: %v", doc, line, err)
			}
			commands++
		}
	}
	if commands == 0 {
		t.Error("the documents contain no command")
	}
}

// TestReadmeCommands runs the README's commands for a reader's file, and its example whose bytes are the
// same everywhere.
func TestReadmeCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stations.csv")
	if err := os.WriteFile(file, []byte("station,temperature\nOslo,2.5\nLima,19.0\nOslo,3.5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	inFile := strings.NewReplacer("input=FILE", "input="+file, "by=COLUMN", "by=station", "mean(OTHER)", "mean(temperature)")
	command := regexp.MustCompile("(?m)^    (bellwether run .+)$")
	sum := regexp.MustCompile(`(?m)^ *sha256 +\S+$`)
	readme := read(t, filepath.Join(root, "README.md"))
	lines := command.FindAllStringSubmatch(readme, -1)
	if len(lines) < 3 {
		t.Fatalf("the README has %d commands that run a job, want 3", len(lines))
	}
	for _, line := range lines {
		out, err := exec.Command("sh", "-c", strings.Replace(inFile.Replace(line[1]), "bellwether", `"$0"`, 1), program).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", line[1], err, out)
		}
		if strings.Contains(line[1], "montecarlo") {
			want := strings.Fields(sum.FindString(readme))
			if got := strings.Fields(string(sum.Find(out))); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v as in the README", line[1], got, want)
			}
		}
	}
}

// TestPaths checks that the files exist which the documents link to or name, such as `jobs/scan/`.
func TestPaths(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	named := regexp.MustCompile("`((?:cmd|coordinator|worker|election|jobs|bench|deploy)/[^` *]+)`")
	for _, doc := range documentFiles {
		text := read(t, filepath.Join(root, doc))
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(doc), match[1])); err != nil && !strings.Contains(match[1], "://") {
				t.Errorf("%s: %v", doc, err)
			}
		}
		for _, match := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
