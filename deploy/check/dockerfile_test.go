package check

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

func parseDockerfile() ([]instructions.Stage, error) {
	file, err := os.Open("../Dockerfile")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		return nil, err
	}
	for _, warning := range parsed.Warnings {
		return nil, fmt.Errorf("parse Dockerfile: %s", warning.Short)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	return stages, err
}

// find are the instructions of a kind in a stage.
func find[C instructions.Command](stage instructions.Stage) []C {
	var found []C
	for _, command := range stage.Commands {
		if c, ok := command.(C); ok {
			found = append(found, c)
		}
	}
	return found
}

func TestDockerfile(t *testing.T) {
	stages, err := parseDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	build, image := stages[0], stages[len(stages)-1]
	if !regexp.MustCompile(`^golang:\d+\.\d+\.\d+-\w+$`).MatchString(build.BaseName) {
		t.Errorf("the base of the build, %s, is not pinned", build.BaseName)
	}
	if image.BaseName != "scratch" {
		t.Errorf("the image is from %s, want scratch", image.BaseName)
	}
	if runs := find[*instructions.RunCommand](image); len(runs) > 0 {
		t.Errorf("%v cannot run in an image without a shell", runs[0])
	}
	users := find[*instructions.UserCommand](image)
	if len(users) != 1 || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(users[0].User) {
		t.Errorf("want one USER by number, who is not root; got %v", users)
	}
	var copied []string
	for _, c := range find[*instructions.CopyCommand](image) {
		copied = append(copied, c.SourcePaths...)
		if c.From != build.Name {
			t.Errorf("COPY takes %v from %q, not from the build", c.SourcePaths, c.From)
		}
	}
	for _, want := range []string{"/bellwether", "/etc/ssl/certs/ca-certificates.crt"} {
		if !slices.Contains(copied, want) {
			t.Errorf("the image has no %s", want)
		}
	}
	entry, command := find[*instructions.EntrypointCommand](image), find[*instructions.CmdCommand](image)
	if len(entry) != 1 || entry[0].PrependShell || !slices.Equal(entry[0].CmdLine, []string{"/bellwether"}) {
		t.Errorf("entry point: got %v, want the program without a shell", entry)
	}
	if len(command) != 1 || command[0].PrependShell {
		t.Fatalf("want one CMD without a shell, got %v", command)
	}
	checkCommand(t, command[0].CmdLine)
}

// TestBaseIsTheToolchainOfTheModule keeps the image from being built with a Go that
// is older than the module wants: it would not download another.
func TestBaseIsTheToolchainOfTheModule(t *testing.T) {
	stages, err := parseDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, root+"/go.mod"))
	if wanted == nil || !strings.HasPrefix(stages[0].BaseName, "golang:"+wanted[1]+".") {
		t.Errorf("the base is %s, the module wants %v", stages[0].BaseName, wanted)
	}
}

// buildImageProgram runs the Dockerfile's own 'go build' in a directory.
func buildImageProgram(dir, output string, env ...string) error {
	stages, err := parseDockerfile()
	if err != nil {
		return err
	}
	const target = " -o /bellwether "
	for _, c := range find[*instructions.RunCommand](stages[0]) {
		line := strings.Join(c.CmdLine, " ")
		if !strings.Contains(line, "go build") {
			continue
		}
		if !strings.Contains(line, target) {
			return fmt.Errorf("the image's program is not where %q puts it", line)
		}
		cmd := exec.Command("sh", "-c", strings.Replace(line, target, " -o '"+output+"' ", 1))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
		return nil
	}
	return errors.New("the Dockerfile builds nothing")
}

func TestProgramIsStatic(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the image's program is built for Linux")
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is linked dynamically: it has a header %v", p.Type)
		}
	}
}

// TestProgramIsReproducible builds the same commit in two directories. In CI the
// second build has nothing but the sources; elsewhere it may use what was compiled
// for the first.
func TestProgramIsReproducible(t *testing.T) {
	var sums [2][]byte
	for i, where := range []string{"first", "second/and/deeper"} {
		dir := filepath.Join(t.TempDir(), where)
		if err := run("git", "clone", "--quiet", root, dir); err != nil {
			t.Fatal(err)
		}
		var env []string
		if i > 0 && os.Getenv("CI") != "" {
			env = append(env, "GOCACHE="+t.TempDir())
		}
		output := filepath.Join(t.TempDir(), "bellwether")
		if err := buildImageProgram(dir, output, env...); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(read(t, output)))
		sums[i] = sum[:]
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two builds of one commit differ: %x and %x", sums[0], sums[1])
	}
}

// TestContextIsWhole keeps .dockerignore from hiding files of the repository: the
// build would be called modified.
func TestContextIsWhole(t *testing.T) {
	files, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range strings.Lines(read(t, root+"/.dockerignore")) {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		form := regexp.QuoteMeta(strings.Trim(pattern, "/"))
		form = strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*`, `[^/]*`).Replace(form)
		hidden := regexp.MustCompile("(?m)^" + form + "(/.*)?$")
		if match := hidden.FindString(string(files)); match != "" {
			t.Errorf(".dockerignore hides %s, by %s", match, pattern)
		}
	}
}
