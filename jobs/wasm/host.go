package wasm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
)

// checkPhase is the phase of a call that only compiles the module.
const checkPhase = "check"

// InterpreterFlag makes a host process interpret the module instead of compiling it. The flag must
// be the first argument.
const InterpreterFlag = "--interpreter"

// HostMain is the code of a host process, which makes the calls of a module. Package exec defines
// the protocol of the calls for its parameter keep. The arguments are the maximum number of pages
// of memory, the maximum number of bytes of an output, the optional phases that the module must
// support, the module and its arguments. The function getenv returns the environment variables of
// the process, like os.Getenv.
func HostMain(args []string, getenv func(name string) string, in io.Reader, out io.Writer) error {
	var interpreted bool
	if len(args) > 0 && args[0] == InterpreterFlag {
		interpreted, args = true, args[1:]
	}
	if len(args) < 4 {
		return fmt.Errorf("got %d arguments, want at least 4: this command is started by workers", len(args))
	}
	pages, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return fmt.Errorf("number of pages: %w", err)
	}
	output, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return fmt.Errorf("bytes of output: %w", err)
	}
	// A low limit frees the memory of instances soon after their calls.
	debug.SetMemoryLimit(int64(pages)*pageSize + 64<<20)
	m := module{
		args: args[3:], needs: strings.FieldsFunc(args[2], func(r rune) bool { return r == ',' }),
		pages: uint32(pages), output: output, interpreted: interpreted,
		job: getenv("BELLWETHER_JOB"), cache: getenv("BELLWETHER_CACHE"),
	}
	defer m.close()
	return m.serve(context.Background(), bufio.NewReaderSize(in, 64<<10), bufio.NewWriter(out))
}

// serve answers calls until the input ends.
func (m *module) serve(ctx context.Context, calls *bufio.Reader, answers *bufio.Writer) error {
	for {
		if calls.Buffered() == 0 {
			if err := answers.Flush(); err != nil {
				return err
			}
		}
		f, err := readFrame(calls)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		output, err := m.call(ctx, f)
		status := "ok"
		if err != nil {
			status, output = "fail", []byte(err.Error())
			switch {
			case err == errAgain:
				status, output = "again", nil
			case jobs.IsPermanent(err):
				status = "permanent"
			}
		}
		_, _ = fmt.Fprintf(answers, "%d %s %d\n", f.number, status, len(output)) // Flush returns an error of a write
		_, _ = answers.Write(output)
	}
}

// frame is a call that the host process has received.
type frame struct {
	number  uint64 // of the call
	phase   string
	numbers [2]uint64
	input   input // of a call of the phase map
	data    []byte
}

// input describes the data of a call of the phase map.
type input struct {
	names          string // of the objects, separated by newlines; empty: there is no input
	offset, length int64
}

// operands splits the data of a call of the phase merge.
func (f frame) operands() (left, right []byte) { return f.data[:f.numbers[0]], f.data[f.numbers[0]:] }

func readFrame(r *bufio.Reader) (f frame, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return f, err
	}
	var length uint64
	if _, err := fmt.Sscanf(line, "%d %s %d %d %d\n", &f.number, &f.phase, &f.numbers[0], &f.numbers[1], &length); err != nil {
		return f, fmt.Errorf("a call begins with %.100q: %w", line, err)
	}
	if f.phase == "merge" && (f.numbers[0] > length || f.numbers[1] != length-f.numbers[0]) {
		return f, fmt.Errorf("a call begins with %.100q: want the sum of both lengths as the last number", line)
	}
	if f.data, err = io.ReadAll(io.LimitReader(r, int64(length))); err == nil && uint64(len(f.data)) < length {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && f.phase == "map" {
		err = f.describe()
	}
	return f, err
}

// describe removes the line that describes the input from the data: see exec.Kind.
func (f *frame) describe() error {
	line, data, found := bytes.Cut(f.data, []byte{'\n'})
	if !found {
		return errors.New("the data of a call does not begin with a line that describes it")
	}
	f.data = data
	if len(line) == 0 {
		return nil
	}
	if _, err := fmt.Sscanf(string(line), "%q %d %d", &f.input.names, &f.input.offset, &f.input.length); err != nil {
		return fmt.Errorf("the description of an input is %.100q: %w", line, err)
	}
	return nil
}
