package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var docs = []string{"../README.md", "../operations.md"}

// TestDocumentedCommands has the program parse what the documents tell people to type.
func TestDocumentedCommands(t *testing.T) {
	command := regexp.MustCompile("(?m)^    bellwether (.+)$")
	found := 0
	for _, doc := range docs {
		for _, match := range command.FindAllStringSubmatch(read(t, doc), -1) {
			line, _, _ := strings.Cut(match[1], "  ") // what it does stands beside it
			checkCommand(t, strings.Fields(line))
			found++
		}
	}
	if found == 0 {
		t.Error("the documents have no command")
	}
}

// TestNotes has the program parse what the chart tells people to run in a pod.
func TestNotes(t *testing.T) {
	command := regexp.MustCompile(`(?m) -- /bellwether (.+)$`)
	for name, set := range valueSets(t) {
		files, err := render(t, set)
		if err != nil {
			t.Fatal(err)
		}
		matches := command.FindAllStringSubmatch(files["bellwether/templates/NOTES.txt"], -1)
		if len(matches) == 0 {
			t.Errorf("%s: the notes have no command", name)
		}
		for _, match := range matches {
			checkCommand(t, strings.Fields(match[1]))
		}
	}
}

// TestDocumentedValues renders the chart with the example of the README.
func TestDocumentedValues(t *testing.T) {
	_, rest, _ := strings.Cut(read(t, "../README.md"), "```yaml\n")
	text, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no values")
	}
	yours := strings.NewReplacer("REGISTRY", "registry.example", "VERSION", "v1", "ACCOUNT", "account",
		"CLIENT_ID", "01234567-89ab-cdef-0123-456789abcdef")
	if len(objects(t, values(t, yours.Replace(text)))) == 0 {
		t.Error("they give no objects")
	}
}

// TestDocumentsPointToFiles follows the links.
func TestDocumentsPointToFiles(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, doc := range docs {
		for _, match := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), match[1])); err != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
