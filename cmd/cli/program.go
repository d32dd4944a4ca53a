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
)

// programFlags are the flags for jobs that run a program.
type programFlags struct{ send []string }

func (f *programFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.send, "send", nil, "a file that the calls of job exec find in their working folder, or the module of job wasm; may be repeated")
	console.CompleteFiles(cmd, "send")
}

// read returns the parameters that the arguments after "--" and the flags set, in the form
// NAME=VALUE, and the files to submit with the job.
func (f *programFlags) read(job jobs.Job, command []string) (pairs []string, files []jobs.File, err error) {
	if len(command) > 0 {
		if !takes(job, commandParameter) {
			return nil, nil, console.Usagef("job %s takes no arguments behind --: it has no parameter %q", job.Name(), commandParameter)
		}
		if err := checkWords(command); err != nil {
			return nil, nil, err
		}
		pairs = append(pairs, pair(commandParameter, command))
	}
	if len(f.send) == 0 {
		return pairs, nil, nil
	}
	if !takes(job, filesParameter) {
		return nil, nil, console.Usagef("--send: job %s takes no files: it has no parameter %q", job.Name(), filesParameter)
	}
	type info struct { // an item of the parameter files; see the job exec
		Name   string `json:"name"`
		SHA256 string `json:"sha256"`
		Size   int64  `json:"size"`
	}
	var list []info
	for _, path := range f.send {
		data, err := readFile(path)
		if err != nil {
			return nil, nil, console.Usagef("--send: %w", err)
		}
		files = append(files, data)
		list = append(list, info{filepath.Base(path), data.SHA256(), int64(len(data))})
	}
	return append(pairs, pair(filesParameter, list)), files, nil
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

// maxFile is the maximum size in bytes of a file for --send. The size of a file is limited because
// the whole file is in memory while it is sent.
const maxFile = 256 << 20

func readFile(path string) (jobs.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %s", path, humanize.IBytes(maxFile))
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
