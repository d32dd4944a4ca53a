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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
)

const (
	// grace is the time between SIGTERM and SIGKILL.
	grace = 5 * time.Second
	// measureEvery is the time between two measurements of the memory of a call.
	measureEvery = 100 * time.Millisecond
	// drainOutput is the maximum time from the end of the program to the end of its output.
	drainOutput = time.Second
	tailBytes   = 4 << 10 // maximum number of bytes of standard error in an error
	// The pauses before retries after temporary failures grow from firstPause to lastPause.
	firstPause = time.Second
	lastPause  = 30 * time.Second
)

// program is the program that each call of a job runs.
type program struct {
	name     string   // name of the program in errors
	phase    string   // phase of the call in errors
	env      []string // environment variables of every call
	args     []string
	replaces bool             // the placeholder in an argument stands for items or a file
	path     string           // path of the file to run; empty if each call must look for it
	timeout  time.Duration    // maximum duration of a call; 0 means no limit
	memory   int64            // maximum memory of all processes of a call in bytes; 0 means no limit
	output   int64            // maximum number of bytes of standard output
	folder   folder           // files that each call finds in its working folder
	user     *account.Account // user as whom the program runs; nil: the user of this process
}

// These constants are the exit statuses of sysexits.h that have a meaning.
const (
	ExitUsage       = 64
	ExitData        = 65
	ExitTemporarily = 75
)

// errTemporary is the error of a program that requests a retry.
var errTemporary = errors.New("exit status 75")

// once runs the program and returns its standard output. The working folder of the program is a new
// temporary folder.
func (p program) once(ctx context.Context, g *Guard, c call) (output []byte, err error) {
	p.phase = c.phase
	stdout := &limited{most: p.output, full: make(chan struct{})}
	c.env = append(c.env, "BELLWETHER_PHASE="+c.phase)
	run, err := p.prepare(ctx, g, c)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, run.remove()) }()
	run.Stdout, run.WaitDelay = stdout, drainOutput
	var pipe io.WriteCloser
	if c.each != nil {
		if pipe, err = run.StdinPipe(); err != nil {
			return nil, fmt.Errorf("make pipe: %w", err)
		}
	}
	ended, err := g.start(run.Cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.phase, err)
	}
	run.family = newFamily(run.Process.Pid, run.Dir)
	feeding, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fed := c.feed(feeding, cancel, pipe)
	if run.group != nil {
		p.memory = 0 // the kernel enforces the limit
	}
	stopped := p.watch(feeding, run.family, stdout.full)
	<-ended
	reason := cmp.Or(stopped(), context.Cause(ctx)) // checked first, because a program with incomplete input may still end with status 0
	cancel(nil)
	if pipe != nil {
		_ = pipe.Close() // a process that the program has left may keep standard input open and read nothing
	}
	reason = cmp.Or(<-fed, reason)
	err = run.wait(g) // the output is complete only after the wait
	err = p.outcome(reason, err, run.stderr)
	if err == nil && c.collect != nil {
		err = c.collect(ctx, outFolder{filepath.Join(run.Dir, outName), p.output, p.user})
	}
	return stdout.bytes(), err
}

// process is a run of the program, with its working folder.
type process struct {
	*exec.Cmd
	stderr *Tail // end of what the program has written to standard error
	log    *stderrLog
	memory int64
	family *family // processes of the call; nil until the program is started
	group  *cgroup // control group of the processes; nil if their memory is unlimited or measured
}

// arguments returns the arguments of a call. The values replace the placeholder, or follow the arguments
// if none contains the placeholder.
func (p program) arguments(values []string) (args []string) {
	placed := false
	for _, a := range p.args[1:] {
		switch {
		case p.replaces && a == placeholder:
			args, placed = append(args, values...), true
		case p.replaces && len(values) == 1 && strings.Contains(a, placeholder):
			args, placed = append(args, strings.ReplaceAll(a, placeholder, values[0])), true
		default:
			args = append(args, a)
		}
	}
	if !placed {
		args = append(args, values...)
	}
	return args
}

// prepare makes a process and its working folder, and does not start it.
func (p program) prepare(ctx context.Context, g *Guard, c call) (run process, err error) {
	dir, err := g.makeFolder("call-")
	if err != nil {
		return run, fmt.Errorf("make working folder: %w", err)
	}
	name := cmp.Or(p.path, p.args[0])
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	values := c.values
	for _, o := range c.operands {
		values = append(values, o.name)
	}
	run = process{Cmd: exec.Command(name, p.arguments(values)...), stderr: &Tail{}, memory: p.memory}
	run.log = &stderrLog{tail: run.stderr}
	run.log.begin(ctx)
	run.Args[0] = p.args[0]
	run.Dir, run.Env, run.Stderr = dir, slices.Concat(environment(dir, p.user), p.env, c.env), run.log
	setAttributes(run.Cmd, p.user)
	if parent := delegated(); parent != "" && p.memory > 0 {
		run.group, err = newCgroup(parent, p.memory)
		run.group.contain(run.Cmd)
	}
	err = cmp.Or(err, p.folder.link(dir))
	if err == nil && c.file != nil {
		err = p.writeObject(ctx, dir, c.file)
	}
	for _, o := range c.operands {
		path := filepath.Join(dir, o.name)
		err = cmp.Or(err, os.WriteFile(path, o.data, 0o600), os.Chmod(path, 0o444)) // whatever the umask
	}
	if c.collect != nil {
		out := filepath.Join(dir, outName)
		run.Env = append(run.Env, "BELLWETHER_OUT="+out)
		err = cmp.Or(err, os.Mkdir(out, 0o700), p.give(out))
	}
	err = cmp.Or(err, p.give(dir)) // last, because other processes of the user could replace files by links
	if err != nil {
		return run, errors.Join(fmt.Errorf("prepare working folder: %w", err), run.remove())
	}
	return run, nil
}

// writeObject writes an object to the working folder. The program may change its copy.
func (p program) writeObject(ctx context.Context, dir string, f *objectFile) error {
	if err := f.write(ctx, dir); err != nil {
		return fmt.Errorf("read input: %w", err)
	}
	return p.give(filepath.Join(dir, f.name))
}

// give makes the user as whom the program runs the owner of a file or folder.
func (p program) give(name string) error {
	if p.user == nil {
		return nil
	}
	return os.Chown(name, int(p.user.UID), int(p.user.GID))
}

// wait kills the remaining processes that the program has started, and returns the error of the
// program's end. The program must have ended.
func (r process) wait(g *Guard) error {
	r.family.end()
	g.ended(r.Process.Pid)
	err := r.Cmd.Wait()
	r.log.end()
	if r.group.exceeded() {
		return fmt.Errorf("its processes used more than %s of memory", humanize.IBytes(uint64(r.memory)))
	}
	return err
}

// remove removes the working folder and the control group.
func (r process) remove() error {
	r.group.close()
	if syscall.Rmdir(r.Dir) == nil { // most programs leave nothing in the folder
		return nil
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return fmt.Errorf("remove working folder: %w", err)
	}
	return nil
}

// feed writes standard input to the program. At the end feed sends nil to the channel, or an error
// if the input could not be read. After a read error feed stops the program, because the program
// cannot know that its input is incomplete.
func (c call) feed(ctx context.Context, stop context.CancelCauseFunc, pipe io.WriteCloser) <-chan error {
	fed := make(chan error, 1)
	if pipe == nil {
		fed <- nil
		return fed
	}
	go func() {
		closed := false // true if the program has closed its standard input
		err := c.each(ctx, func(data []byte) error {
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

// environment returns the environment variables that every call gets. PATH, HOME and LANG are
// inherited from this process, but another user as whom the program runs has its own home directory,
// or the working folder if the user has none.
func environment(dir string, user *account.Account) []string {
	env := []string{"TMPDIR=" + dir}
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "PATH", "HOME", "LANG":
			env = append(env, variable)
		}
	}
	if user != nil {
		env = append(env, "HOME="+cmp.Or(user.Home, dir)) // the last value of a variable counts
	}
	return env
}

// watch ends the processes of a call if the call exceeds a limit or if ctx is done. The caller must
// call stopped when the program has ended. The function stopped returns the reason for which watch
// has ended the program, or nil.
func (p program) watch(ctx context.Context, f *family, full <-chan struct{}) (stopped func() error) {
	over, result := make(chan struct{}), make(chan error, 1)
	go func() { result <- p.enforce(ctx, f, full, over) }()
	return func() error {
		close(over)
		return <-result
	}
}

func (p program) enforce(ctx context.Context, f *family, full, over <-chan struct{}) error {
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
			select {
			case <-full: // the program ended because it could write no more
				return p.tooMuchOutput()
			default:
				return nil
			}
		case <-full:
			f.kill()
			return p.tooMuchOutput()
		case <-measure:
			if err := p.checkMemory(f); err != nil {
				f.kill()
				return err
			}
			continue
		case <-late:
			reason = fmt.Errorf("it took longer than %v", p.timeout)
		case <-ctx.Done():
			reason = context.Cause(ctx)
		}
		f.terminate()
		select {
		case <-over:
		case <-time.After(grace):
			f.kill()
		}
		return reason
	}
}

// tooMuchOutput returns the error of a call whose output is too large.
func (p program) tooMuchOutput() error {
	return jobs.Permanent(fmt.Errorf("it wrote more than %s to standard output: raise max-output, or write less", humanize.IBytes(uint64(p.output))))
}

// checkMemory returns an error if the processes of a call use too much memory.
func (p *program) checkMemory(f *family) error {
	if used := f.memory(); used > p.memory {
		return fmt.Errorf("its processes used %s of memory, and may use %s", humanize.IBytes(uint64(used)), humanize.IBytes(uint64(p.memory)))
	}
	return nil
}

// outcome returns the error of a call, or nil if the call succeeded. The parameter reason is the
// error for which watch has ended the program, or nil.
func (p program) outcome(reason, err error, stderr *Tail) error {
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
	case ExitUsage, ExitData:
		return jobs.Permanent(p.failed(err, stderr))
	case ExitTemporarily:
		return p.failed(errTemporary, stderr)
	}
	return p.failed(err, stderr)
}

// failed returns an error that names the phase and the program, and contains the end of standard
// error.
func (p program) failed(err error, stderr *Tail) error {
	return fmt.Errorf("%s: %s: %w", p.phase, p.name, stderr.Explain(err))
}

// limited is a writer that keeps all bytes that are written to it, up to a limit.
type limited struct {
	chunks
	most int64
	full chan struct{} // channel that is closed when more bytes than the limit are written
}

var errFull = errors.New("too much output")

// ReadFrom writes everything that can be read from r. Without this method, package exec would
// allocate 32 KiB for each call.
func (l *limited) ReadFrom(r io.Reader) (int64, error) { return copyTo(l, r) }

// ReadFrom is like the method of limited.
func (t *Tail) ReadFrom(r io.Reader) (int64, error) { return copyTo(t, r) }

// copyTo copies r to w with memory that is used again.
func copyTo(w io.Writer, r io.Reader) (int64, error) {
	buffer := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, *buffer)
}

var copyBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 32<<10)
	return &buffer
}}

func (l *limited) Write(data []byte) (int, error) {
	if l.size+int64(len(data)) > l.most {
		select {
		case <-l.full:
		default:
			close(l.full)
		}
		return 0, errFull
	}
	return l.chunks.Write(data)
}

// Tail is a writer that keeps the last tailBytes bytes that are written to it.
type Tail struct {
	mu   sync.Mutex
	data []byte
}

// Explain returns an error that contains err and the bytes in the tail. The most important line comes
// first, because tables show only the first line of an error.
func (t *Tail) Explain(err error) error {
	text := strings.TrimSpace(strings.ToValidUTF8(t.String(), "\uFFFD"))
	switch {
	case text == "":
		return err
	case !strings.Contains(text, "\n"):
		return fmt.Errorf("%w: %s", err, text)
	}
	return fmt.Errorf("%w: %s\nstandard error:\n%s", err, headline(text), text)
}

// headline returns the line of a text that names an error: the beginning of a panic in Go, or
// otherwise the last line, as in Python.
func headline(text string) (line string) {
	for line = range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			break
		}
	}
	return line
}

func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}
