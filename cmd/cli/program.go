package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/bellwether-compute/bellwether/cmd/internal/console"
	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	commandParameter = "command" // parameter whose value can be given as arguments after "--"
	filesParameter   = "files"   // parameter that describes the files of the flag --send
	itemsParameter   = "items"   // parameter that describes the file of the flag --items
)

// programFlags are the flags for jobs that run a program.
type programFlags struct {
	send  []string
	items string
}

func (f *programFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.send, "send", nil, "a file that the calls of job exec find in their working folder, or the module of job wasm; may be repeated")
	cmd.Flags().StringVar(&f.items, "items", "", "a file, or - for standard input, with one item a line: job exec calls its program once for each item, which replaces {} in the arguments or follows them")
	console.CompleteFiles(cmd, "send", "items")
}

// fileInfo describes a file in the parameters files and items; see the job exec.
type fileInfo struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// read returns the parameters that the arguments after "--" and the flags set, in the form
// NAME=VALUE, and the files to submit with the job.
func (f *programFlags) read(a *app, job jobs.Job, command []string) (pairs []string, files []jobs.File, err error) {
	for _, flag := range []struct {
		given                bool
		parameter, complaint string
	}{
		{len(command) > 0, commandParameter, "job %s takes no arguments behind --: it has no parameter %q"},
		{len(f.send) > 0, filesParameter, "--send: job %s takes no files: it has no parameter %q"},
		{f.items != "", itemsParameter, "--items: job %s takes no items: it has no parameter %q"},
	} {
		if flag.given && !takes(job, flag.parameter) {
			return nil, nil, console.Usagef(flag.complaint, job.Name(), flag.parameter)
		}
	}
	if len(command) > 0 {
		if err := checkWords(command); err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, pair(commandParameter, command))
	}
	if f.items != "" {
		data, err := a.readItems(f.items)
		if err != nil {
			return nil, nil, console.Usagef("--items: %w", err)
		}
		files = append(files, data)
		pairs = append(pairs, pair(itemsParameter, fileInfo{filepath.Base(f.items), data.SHA256(), int64(len(data))}))
	}
	var list []fileInfo
	for _, path := range f.send {
		data, err := readFile(path)
		if err != nil {
			return nil, nil, console.Usagef("--send: %w", err)
		}
		files = append(files, data)
		list = append(list, fileInfo{filepath.Base(path), data.SHA256(), int64(len(data))})
	}
	if len(list) > 0 {
		pairs = append(pairs, pair(filesParameter, list))
	}
	return pairs, files, nil
}

// checkWords returns an error for a program and arguments that the shell has passed as one word, because of
// quotes around all of them.
func checkWords(command []string) error {
	words := strings.Fields(command[0])
	if len(command) > 1 || len(words) < 2 {
		return nil
	}
	if _, err := exec.LookPath(command[0]); err == nil {
		return nil
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil // the workers may have a program of this name
	}
	return console.Usagef("there is no program %q: give the program and its arguments without quotes around all of them, as in -- %s", command[0], command[0])
}

// maxFile is the maximum size in bytes of a file for --send or --items. The size of a file is limited because
// the whole file is in memory while it is sent.
const maxFile = 256 << 20

func readFile(path string) (jobs.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path)
}

func (a *app) readItems(path string) (jobs.File, error) {
	if path == console.StandardInput {
		return readAll(a.TakeInput("--items"), "standard input")
	}
	return readFile(path)
}

func readAll(from io.Reader, name string) (jobs.File, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %s", name, humanize.IBytes(maxFile))
	}
	return data, err
}

func takes(job jobs.Job, parameter string) bool {
	return slices.ContainsFunc(job.Parameters(), func(p jobs.Parameter) bool { return p.Name == parameter })
}

// pair returns a parameter in the form NAME=VALUE, with the value encoded as JSON.
func pair(name string, value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // JSON can encode every string and every number
	}
	return name + "=" + string(text)
}
