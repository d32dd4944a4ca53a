package cli_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample checks that the program in the README is the one in
// example_test.go, which is compiled and run.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(rest, "```\n")
	begin, end := strings.Index(program, "type params struct"), strings.Index(program, "func main()")
	if !found || begin < 0 || end < begin {
		t.Fatal("the README has no Go program with a params struct and a main function")
	}
	if !strings.Contains(string(example), program[begin:end]) {
		t.Error("the program in the README is not the one in example_test.go")
	}
}
