package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxProgram is the largest size in bytes of a program with one small job, 40 MiB.
const maxProgram = 40 << 20

// TestSizeOfTheReadmesProgram builds the first program of the README and checks its size. A program
// that is too large links a part that most programs do not need: pass the part in [cli.Program], and
// find it with "go list -deps" and "go tool nm -size -sort size". A call of a method by a name that
// only the running program knows, as in package text/template, also makes a program larger by a third.
func TestSizeOfTheReadmesProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	code, _, _ := strings.Cut(rest, "```\n")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "pi")
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= maxProgram {
		t.Errorf("the program has %d bytes, want less than %d", info.Size(), maxProgram)
	}
	if out, err := exec.Command(program, "run", "pi", "-p", "terms=1e6").CombinedOutput(); err != nil || !strings.Contains(string(out), "3.14159") {
		t.Errorf("the program printed %q, error %v", out, err)
	}
}
