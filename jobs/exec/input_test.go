package exec

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
)

// writeFiles writes files to a new folder, and returns the folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// command returns the parameter command.
func command(words ...string) string {
	text, err := json.Marshal(words)
	if err != nil {
		panic(err)
	}
	return "command=" + string(text)
}

// TestSplits checks what the calls get for each value of the parameters split and lines.
func TestSplits(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "b.gz": "stored", "c d.txt": "", "-e.txt": "six", ".f": "seven\n"})
	whole := "input=" + dir + "/*," + dir + "/.f"
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{[]string{command("sh", "-c", `echo "$(cat) ${BELLWETHER_INPUT##*/}"`), whole, "split=file"}, "six -e.txt\nseven .f\none\ntwo\nthree a.txt\nstored b.gz\n c d.txt\n"},
		{[]string{command("wc", "-c", "{}"), whole, "split=file"}, "3 _-e.txt\n6 _.f\n14 a.txt\n6 b.gz\n0 c d.txt\n"},
		{[]string{command("sh", "-c", `echo "$1 $# $(cat) $(ls)"; echo more >> "${1#name=}"`, "sh", "name={}"), "input=" + dir + "/a.txt", "split=file"}, "name=a.txt 1  a.txt\n"},
		{[]string{command("sh", "-c", `echo "$# $(ls -A)"`, "{}", "{}"), "input=" + dir + "/a.txt", "split=file", "merge=program"}, "1 a.txt\n"},
		{[]string{command("sh", "-c", `echo "$(cat),"`), "input=" + dir + "/a.txt", "lines=2"}, "one\ntwo,\nthree,\n"},
		{[]string{command("cat"), "input=" + dir + "/a.txt", "lines=1", "split=lines"}, "one\ntwo\nthree\n"},
	} {
		r, err := run(t, test.pairs)
		if err != nil || r.Text != test.want {
			t.Errorf("%q: %q, %v; want %q", test.pairs, r.Text, err, test.want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\ntwo\nthree\n" {
		t.Errorf("a call has changed its object: %q, %v", text, err)
	}
}

// runItems runs a job with the option --items.
func runItems(t *testing.T, items string, pairs ...string) (string, error) {
	t.Helper()
	file := jobs.File(items)
	info, err := json.Marshal(FileInfo{"list", file.SHA256(), int64(len(file))})
	if err != nil {
		t.Fatal(err)
	}
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, append(pairs, "items="+string(info))...)
	if err != nil {
		return "", err
	}
	result, err := jobs.Local{Grant: granted, Slots: 2, Attempts: 1}.Run(jobs.WithFiles(t.Context(), jobs.Files{file}), job, params)
	return string(result.Attachment.Data()), err
}

func TestItems(t *testing.T) {
	const list = "one\r\n\ntwo words\n-n\n{}\n$(echo run)"
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{[]string{command("printf", "<%s>")}, "<one><two words><-n><{}><$(echo run)>"},
		{[]string{command("printf", "<%s>", "a{}b{}")}, "<aonebone><atwo wordsbtwo words><a-nb-n><a{}b{}><a$(echo run)b$(echo run)>"},
		{[]string{command("printf", "<%s>", "{}", "end"), "lines=3"}, "<one><two words><-n><end><{}><$(echo run)><end>"},
		{[]string{command("sh", "-c", `printf "%s," $# "$(cat)"`, "sh"), "lines=4"}, "4,,1,,"},
		{[]string{command("sh", "-c", `if [ $BELLWETHER_PHASE = map ]; then printf "%s" "$1"; else cat "$1" "$2"; fi`, "sh", "{}"), "merge=program"}, "onetwo words-n{}$(echo run)"},
	} {
		if got, err := runItems(t, list, test.pairs...); err != nil || got != test.want {
			t.Errorf("%q: %q, %v; want %q", test.pairs, got, err, test.want)
		}
	}
	echo := `while read number phase partition partitions length; do printf "$number ok $length\n"; head -c "$length"; done`
	if got, err := runItems(t, list, append(shell(echo), "keep=true", "lines=2")...); err != nil || got != "one\ntwo words\n-n\n{}\n$(echo run)\n" {
		t.Errorf("a kept process gets %q, %v", got, err)
	}
}

func TestBadItems(t *testing.T) {
	items := `items={"name":"list","sha256":"` + strings.Repeat("0", 64) + `","size":1}`
	for _, test := range []struct {
		pairs []string
		want  string
	}{
		{[]string{command("cat"), "split=file"}, `got "file" without the parameter input`},
		{[]string{command("cat"), "split=file", "input=a", "lines=1"}, "parameters split=file and lines"},
		{[]string{command("cat"), "lines=1"}, "parameter lines: want also the parameter input"},
		{[]string{command("cat"), "items=list.txt"}, "the option --items makes it"},
		{[]string{command("cat"), items, "input=a"}, "parameters items, input and partitions: want one of them"},
		{[]string{command("cat"), items, "partitions=2"}, "parameters items, input and partitions: want one of them"},
		{[]string{command("cat", "{}"), items, "keep=true"}, "a kept process gets its arguments before its calls"},
		{[]string{command("cat", "x{}"), items, "lines=2"}, `got the argument "x{}" for 2 items`},
		{[]string{command("/bin/bash", "-c", "echo {}"), items}, "a shell would run commands in an item"},
	} {
		if _, err := jobs.MustNew(Define(nil)).Params(nil, test.pairs...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.pairs, err, test.want)
		}
	}
	for list, want := range map[string]string{
		"\n\r\n":                               "items: there are none in the 2 lines of list",
		"good\nbad\x00":                        `items: line 2, "bad\x00": want`,
		"x\n" + strings.Repeat("long", 50_000): "items: line 2, \"long",
	} {
		if _, err := runItems(t, list, command("cat")); !jobs.IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %.300v, want %q, permanent", list, err, want)
		}
	}
	if _, err := jobs.MustNew(Define(nil)).Params(nil, command("awk", "{}")); err != nil {
		t.Errorf("braces of a job without items: %v", err)
	}
}

// TestObjectLikeSentFile checks that an object does not replace a file that was sent with the job.
func TestObjectLikeSentFile(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.txt": "object"})
	sent := jobs.File("sent")
	job := jobs.MustNew(Define(nil))
	params, err := job.Params(nil, command("cat", "{}"), "input="+dir+"/a.txt", "split=file", fmt.Sprintf(`files=[{"name":"a.txt","sha256":%q,"size":4}]`, sent.SHA256()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = jobs.Local{Grant: granted, Slots: 1, Attempts: 3}.Run(jobs.WithFiles(t.Context(), jobs.Files{sent}), job, params)
	if !jobs.IsPermanent(err) || !strings.Contains(err.Error(), "a.txt: a file of this name was sent with the job") {
		t.Errorf("got %v, want a permanent error", err)
	}
}

func TestNameOfFile(t *testing.T) {
	var got []string
	for _, object := range []string{"/data/a b.png", "azblob://in/x/y.pdf", "https://h/c.pdf?sig=/x", "https://h/", "-rf", "..", strings.Repeat("x", 256)} {
		got = append(got, nameOfFile(object))
	}
	if want := []string{"a b.png", "y.pdf", "c.pdf", "h", "_-rf", "_..", "object"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
