package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs"
)

const (
	// grace is the time between SIGTERM and SIGKILL.
	grace = 5 * time.Second
	// measureEvery is the time between two measurements of the memory of a call.
	measureEvery = 100 * time.Millisecond
	// drainOutput is how long a call waits for the end of the program's output after the program
	// has ended.
	drainOutput = time.Second
	tailBytes   = 4 << 10 // maximum number of bytes of standard error in an error
)

// program is what each call of a job runs.
type program struct {
	args    []string
	timeout time.Duration // maximum duration of a call; 0: no limit
	memory  int64         // maximum memory of all processes of a call in bytes; 0: no limit
	output  int64         // maximum number of bytes of standard output
	folder  folder        // files that each call finds in its working folder
}

// Exit statuses of sysexits.h that have a meaning.
const (
	exitUsage       = 64
	exitData        = 65
	exitTemporarily = 75
)

// errTemporary is the error of a program that asks to be called again later.
var errTemporary = errors.New("exit status 75")

// stdin is what a call gets besides its arguments.
type stdin struct {
	env  []string                                                    // environment variables of this call, in addition to those of every call
	each func(ctx context.Context, do func(data []byte) error) error // passes the pieces of standard input to do; nil: standard input is empty
}

// call runs the program and returns its standard output. The working folder of the program is a new
// temporary folder. If the program exits with status 75, call runs it again after a pause, until
// ctx is done.
func (p program) call(ctx context.Context, g *Guard, in stdin) (output []byte, err error) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		output, err = p.once(ctx, g, in)
		if !errors.Is(err, errTemporary) {
			return output, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, and asks to be called again: %w", err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func (p program) once(ctx context.Context, g *Guard, in stdin) (output []byte, err error) {
	dir, err := os.MkdirTemp("", "bellwether-exec-")
	if err != nil {
		return nil, fmt.Errorf("make working folder: %w", err)
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil && removed != nil {
			err = fmt.Errorf("remove working folder: %w", removed)
		}
	}()
	if err := p.folder.link(dir); err != nil {
		return nil, err
	}
	name := p.args[0]
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	cmd := exec.Command(name, p.args[1:]...)
	cmd.Args[0] = p.args[0]
	stdout, stderr := &limited{most: p.output, full: make(chan struct{})}, &tail{}
	cmd.Dir, cmd.Env = dir, append(environment(dir), in.env...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, stderr, drainOutput
	setAttributes(cmd)
	var pipe io.WriteCloser
	if in.each != nil {
		if pipe, err = cmd.StdinPipe(); err != nil {
			return nil, fmt.Errorf("make pipe: %w", err)
		}
	}
	if err := g.start(cmd); err != nil {
		return nil, err
	}
	feeding, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fed := in.feed(feeding, cancel, pipe)
	stopped := p.watch(feeding, cmd.Process.Pid, stdout.full)
	awaitExit(cmd.Process.Pid)
	reason := cmp.Or(stopped(), context.Cause(ctx)) // checked first, because a program that did not get all of its input may still end with status 0
	cancel(nil)
	reason = cmp.Or(<-fed, reason)
	killGroup(cmd.Process.Pid) // kills the processes that the program has started and that still run
	g.ended(cmd.Process.Pid)
	return stdout.data, p.outcome(reason, cmd.Wait(), stderr)
}

// feed writes standard input to the program. When it has ended, it sends nil to the channel, or an
// error if it could not read the input. After such an error it stops the program, because the
// program cannot know that it has got only a part of its input.
func (in stdin) feed(ctx context.Context, stop context.CancelCauseFunc, pipe io.WriteCloser) <-chan error {
	fed := make(chan error, 1)
	if pipe == nil {
		fed <- nil
		return fed
	}
	go func() {
		closed := false // the program has closed its standard input
		err := in.each(ctx, func(data []byte) error {
			_, err := pipe.Write(data)
			closed = err != nil
			return err
		})
		switch {
		case err == nil:
			_ = pipe.Close()
		case closed || ctx.Err() != nil:
			err = nil
		default:
			err = fmt.Errorf("read input: %w", err)
			stop(err)
		}
		fed <- err
	}()
	return fed
}

// environment returns the environment variables that every call gets.
func environment(dir string) []string {
	env := []string{"TMPDIR=" + dir}
	for _, name := range []string{"PATH", "HOME", "LANG"} {
		if value, found := os.LookupEnv(name); found {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// watch ends the processes of a call if the call exceeds a limit or if ctx is done. The caller must
// call stopped when the program has ended. If watch has ended the program, stopped returns the
// reason, otherwise nil.
func (p program) watch(ctx context.Context, pid int, full <-chan struct{}) (stopped func() error) {
	over, result := make(chan struct{}), make(chan error, 1)
	go func() { result <- p.enforce(ctx, pid, full, over) }()
	return func() error {
		close(over)
		return <-result
	}
}

func (p program) enforce(ctx context.Context, pid int, full, over <-chan struct{}) error {
	var late <-chan time.Time
	if p.timeout > 0 {
		timer := time.NewTimer(p.timeout)
		defer timer.Stop()
		late = timer.C
	}
	var measure <-chan time.Time
	if p.memory > 0 {
		ticker := time.NewTicker(measureEvery)
		defer ticker.Stop()
		measure = ticker.C
	}
	for {
		var reason error
		select {
		case <-over:
			return nil
		case <-full:
			killGroup(pid)
			return jobs.Permanent(fmt.Errorf("it wrote more than %s to standard output: raise max-output, or write less", humanize.IBytes(uint64(p.output))))
		case <-measure:
			if used := memoryOf(pid); used > p.memory {
				killGroup(pid)
				return fmt.Errorf("its processes used %s of memory, and may use %s", humanize.IBytes(uint64(used)), humanize.IBytes(uint64(p.memory)))
			}
			continue
		case <-late:
			reason = fmt.Errorf("it took longer than %v", p.timeout)
		case <-ctx.Done():
			reason = context.Cause(ctx)
		}
		terminateGroup(pid)
		select {
		case <-over:
		case <-time.After(grace):
			killGroup(pid)
		}
		return reason
	}
}

// outcome returns the error of a call, or nil. The parameter reason is the error for which watch
// has ended the program, or nil.
func (p program) outcome(reason, err error, stderr *tail) error {
	var exit *exec.ExitError
	switch {
	case reason != nil:
		return p.failed(reason, stderr)
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrWaitDelay):
		return p.failed(errors.New("it ended, and left a process that keeps its standard output open"), stderr)
	case !errors.As(err, &exit):
		return p.failed(err, stderr)
	}
	switch exit.ExitCode() {
	case exitUsage, exitData:
		return jobs.Permanent(p.failed(err, stderr))
	case exitTemporarily:
		return p.failed(errTemporary, stderr)
	}
	return p.failed(err, stderr)
}

// failed returns an error that contains the end of standard error. The last line comes first,
// because tables show only the first line of an error.
func (p program) failed(err error, stderr *tail) error {
	text := strings.TrimSpace(strings.ToValidUTF8(string(stderr.data), "\uFFFD"))
	last := strings.LastIndexByte(text, '\n')
	switch {
	case text == "":
		return fmt.Errorf("%s: %w", p.args[0], err)
	case last < 0:
		return fmt.Errorf("%s: %w: %s", p.args[0], err, text)
	}
	return fmt.Errorf("%s: %w: %s\nstandard error:\n%s", p.args[0], err, text[last+1:], text)
}

// limited is a writer that keeps all bytes that are written to it, up to a limit.
type limited struct {
	data []byte
	most int64
	full chan struct{} // closed when more bytes than the limit are written
}

var errFull = errors.New("too much output")

func (l *limited) Write(data []byte) (int, error) {
	if int64(len(l.data)+len(data)) > l.most {
		select {
		case <-l.full:
		default:
			close(l.full)
		}
		return 0, errFull
	}
	l.data = append(l.data, data...)
	return len(data), nil
}

// tail is a writer that keeps the last tailBytes bytes that are written to it.
type tail struct{ data []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}
