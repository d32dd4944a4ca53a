package check

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
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

// parseDockerfile returns the instructions of each stage, one per line.
func parseDockerfile() (stages []instructions.Stage, lines [][]string, err error) {
	file, err := os.Open("../Dockerfile")
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	parsed, err := parser.Parse(file)
	if err != nil {
		return nil, nil, err
	}
	if len(parsed.Warnings) > 0 {
		return nil, nil, fmt.Errorf("parse Dockerfile: %s", parsed.Warnings[0].Short)
	}
	stages, _, err = instructions.Parse(parsed.AST, nil)
	for _, node := range parsed.AST.Children {
		if strings.EqualFold(node.Value, "FROM") {
			lines = append(lines, nil)
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], node.Original)
	}
	return stages, lines, err
}

// TestDockerfile checks that the image contains the program and the authorities, has no
// shell, and runs as a user other than root, who can write temporary files.
func TestDockerfile(t *testing.T) {
	stages, lines, err := parseDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, root+"/go.mod"))[1]
	if base := stages[0].BaseName; !regexp.MustCompile(`^golang:` + regexp.QuoteMeta(wanted) + `\.\d+-\w+$`).MatchString(base) {
		t.Errorf("the build's base is %s, want a pinned version of Go %s", base, wanted)
	}
	image := lines[len(lines)-1]
	for _, want := range []string{
		`^FROM scratch$`,
		`^COPY --from=build /etc/ssl/certs/ca-certificates\.crt /etc/ssl/certs/$`,
		`^COPY --from=build /bellwether /bellwether$`,
		`^USER [1-9]\d*:[1-9]\d*$`,
		`^WORKDIR /tmp$`,
		`^ENTRYPOINT \["/bellwether"\]$`,
		`^CMD \[.*\]$`,
	} {
		i := slices.IndexFunc(image, regexp.MustCompile(want).MatchString)
		if i < 0 {
			t.Fatalf("no line of the image matches %s", want)
		}
		if command, ok := strings.CutPrefix(image[i], "CMD "); ok {
			var args []string
			if err := json.Unmarshal([]byte(command), &args); err != nil {
				t.Fatal(err)
			}
			checkCommand(t, args)
		}
	}
	at := func(prefix string) int {
		return slices.IndexFunc(image, regexp.MustCompile("^"+prefix+" ").MatchString)
	}
	if at("WORKDIR") < at("USER") {
		t.Error("WORKDIR is before USER, so that root owns the folder for temporary files")
	}
	if i := at("RUN"); i >= 0 {
		t.Errorf("%s cannot run in an image without a shell", image[i])
	}
}

// buildProgram runs the Dockerfile's go build command in a folder.
func buildProgram(dir, output string, env ...string) error {
	stages, _, err := parseDockerfile()
	if err != nil {
		return err
	}
	for _, command := range stages[0].Commands {
		c, ok := command.(*instructions.RunCommand)
		if !ok || !strings.Contains(c.CmdLine[0], " -o /bellwether ") {
			continue
		}
		cmd := exec.Command("sh", "-c", strings.Replace(c.CmdLine[0], " -o /bellwether ", " -o '"+output+"' ", 1))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", c.CmdLine[0], err, out)
		}
		return nil
	}
	return errors.New("no RUN of the Dockerfile builds /bellwether")
}

// TestProgramIsReproducible builds the same commit in two folders and compares the results byte by
// byte. In CI the second build compiles everything; otherwise it uses the cache.
func TestProgramIsReproducible(t *testing.T) {
	var sums [2][sha256.Size]byte
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
		if err := buildProgram(dir, output, env...); err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256([]byte(read(t, output)))
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds of one commit differ: %x and %x", sums[0], sums[1])
	}
}

// TestProgramHasAVersion checks that the build refuses a folder that is not a clone, because the
// program would not contain its version. In a worktree, .git is a file.
func TestProgramHasAVersion(t *testing.T) {
	stages, _, err := parseDockerfile()
	if err != nil {
		t.Fatal(err)
	}
	command, ok := stages[0].Commands[2].(*instructions.RunCommand)
	if !ok {
		t.Fatalf("got %v after COPY, want a check of .git", stages[0].Commands[2])
	}
	clone, worktree := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(clone, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: /elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{clone: true, worktree: false, t.TempDir(): false} {
		cmd := exec.Command("sh", "-c", command.CmdLine[0])
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); (err == nil) != want {
			t.Errorf("%s: got %v %s, want success: %t", dir, err, out, want)
		}
	}
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

// TestDockerignore checks that no file of the repository is excluded from the build, because the
// build would then be marked as modified.
func TestDockerignore(t *testing.T) {
	files, err := exec.Command("git", "-C", root, "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pattern := range strings.Lines(read(t, root+"/.dockerignore")) {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		form := strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*`, `[^/]*`).Replace(regexp.QuoteMeta(strings.Trim(pattern, "/")))
		if match := regexp.MustCompile("(?m)^" + form + "(/.*)?$").FindString(string(files)); match != "" {
			t.Errorf("%s excludes %s", pattern, match)
		}
	}
}
