package dataset_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsTheExample checks that the README contains the job of this package's example.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "var means = ")
	job, _, found := strings.Cut(rest, "\n}\n")
	if !found || !strings.Contains(string(example), job) {
		t.Error("the job in the README is not the one in example_test.go")
	}
}
