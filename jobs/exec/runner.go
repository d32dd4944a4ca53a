package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/exec/account"
)

// call describes one call of a program.
type call struct {
	phase    string                                                      // phase of the call: map, merge, estimate or finish
	numbers  [2]uint64                                                   // numbers in the frame of the call
	env      []string                                                    // environment variables of this call, in addition to the variables of every call
	each     func(ctx context.Context, do func(data []byte) error) error // passes the pieces of standard input to do; nil if standard input is empty
	prefix   []byte                                                      // beginning of the data of a call in a kept process
	operands []operand                                                   // partials that the program gets as files
	values   []string                                                    // arguments of this call: see the method arguments of program
	file     *objectFile                                                 // object that the program gets as a file; nil without such an object
	collect  func(ctx context.Context, out outFolder) error              // takes the files of a successful call; nil if the program may write none
}

// operand is a partial that a call reads.
type operand struct {
	name string // name of the file in the working folder; it begins with a dot, unlike the names of submitted files
	data []byte
}

// runner makes the calls of a job.
type runner struct {
	program program
	guard   *Guard
	kept    *keeper // kept processes; nil if each call starts a process

	release func() error // function that the user of the runner must call once
}

// runners contains the runners of all jobs in this process. All calls of a job share a runner, so
// that the job's files are fetched once, and a kept process makes calls of all phases.
type runners struct {
	guard *Guard

	mu   sync.Mutex
	list map[runnerKey]*shared // runners with their users
}

// runnerKey identifies a runner. Workers in one process may run programs as different users.
type runnerKey struct {
	job  string // ID of the job
	user string // jobs.Grant.User, if the job is restricted
}

type shared struct {
	users  int           // number of users; guarded by runners.mu
	turn   chan struct{} // channel with room for one value, which contains a value while a user makes the runner
	runner *runner       // runner of the job; nil until the first user has made the runner
}

// acquire returns the runner of a job. The caller must release the runner.
func (r *runners) acquire(ctx context.Context, j job) (*runner, error) {
	key := runnerKey{job: j.id}
	if j.restricted {
		grant := jobs.GrantOf(ctx)
		args, err := j.args()
		if err == nil {
			err = allow(grant, args[0])
		}
		if err != nil {
			return nil, err
		}
		key.user = grant.User
	}
	r.mu.Lock()
	s := r.list[key]
	if s == nil {
		s = &shared{turn: make(chan struct{}, 1)}
		if r.list == nil {
			r.list = map[runnerKey]*shared{}
		}
		r.list[key] = s
	}
	s.users++
	r.mu.Unlock()

	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("wait for the files of the job: %w", context.Cause(ctx)), r.release(key, s))
	}
	if s.runner == nil {
		made, err := newRunner(ctx, r.guard, j, key.user)
		if err != nil {
			return nil, errors.Join(err, r.release(key, s))
		}
		made.release = func() error { return r.release(key, s) }
		s.runner = made
	}
	return s.runner, nil
}

// release removes a user of a runner. The last release closes the runner.
func (r *runners) release(key runnerKey, s *shared) error {
	r.mu.Lock()
	s.users--
	last := s.users == 0
	if last {
		delete(r.list, key)
	}
	r.mu.Unlock()
	if !last || s.runner == nil {
		return nil
	}
	return s.runner.close()
}

// newRunner returns a runner that runs the program as a user, or as the user of this process if the
// name of the user is empty.
func newRunner(ctx context.Context, guard *Guard, j job, user string) (r *runner, err error) {
	r = &runner{guard: guard}
	if r.program, err = j.program(); err != nil {
		return nil, err
	}
	if r.program.user, err = account.Of(user); err != nil {
		return nil, err
	}
	r.program.name = cmp.Or(j.name, r.program.args[0])
	if !strings.ContainsRune(r.program.args[0], filepath.Separator) {
		if path, err := exec.LookPath(r.program.args[0]); err == nil { // otherwise each call fails with the error
			r.program.path = path
		}
	}
	r.program.env = []string{
		"BELLWETHER_JOB=" + j.id,
		"BELLWETHER_MEMORY=" + strconv.FormatInt(r.program.memory, 10),
	}
	if j.cache && guard != nil {
		dir, err := guard.cache()
		if err != nil {
			return nil, fmt.Errorf("make cache: %w", err)
		}
		r.program.env = append(r.program.env, "BELLWETHER_CACHE="+dir)
	}
	files, err := j.files()
	if err != nil {
		return nil, err
	}
	if r.program.folder, err = fetch(ctx, guard, files); err != nil {
		return nil, err
	}
	if j.Keep {
		r.kept = &keeper{program: r.program, guard: guard}
	}
	if j.check != "" {
		if _, err := r.make(ctx, call{phase: j.check}); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

func (r *runner) close() error {
	if r.kept != nil {
		r.kept.close()
	}
	return r.program.folder.Close()
}

// make makes a call and returns the output. If the program requests a retry, make retries the call
// after a pause.
func (r *runner) make(ctx context.Context, c call) ([]byte, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		output, err := r.once(ctx, c)
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

func (r *runner) once(ctx context.Context, c call) ([]byte, error) {
	if r.kept == nil {
		return r.program.once(ctx, r.guard, c)
	}
	input := c.prefix
	if c.each != nil {
		err := c.each(ctx, func(data []byte) error {
			input = append(input, data...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
	}
	for _, o := range c.operands {
		input = append(input, o.data...)
	}
	return r.kept.once(ctx, c, input)
}

// merge calls the program of a job to merge two partials.
func (r *runners) merge(ctx context.Context, j job, left, right []byte) (merged []byte, err error) {
	_, f, a, err := open(left)
	if err != nil {
		return nil, err
	}
	_, g, b, err := open(right)
	if err != nil {
		return nil, err
	}
	output, err := r.call(ctx, j, call{
		phase: "merge", numbers: [2]uint64{uint64(len(a)), uint64(len(b))},
		operands: []operand{{".left", a}, {".right", b}},
	})
	if err != nil {
		return nil, err
	}
	return newPartial(byProgram, f.and(g), output), nil
}

// finish calls the program of a job with the merged outputs.
func (r *runners) finish(ctx context.Context, j job, merged []byte) ([]byte, error) {
	return r.call(ctx, j, call{phase: "finish", operands: []operand{{".root", merged}}})
}

func (r *runners) call(ctx context.Context, j job, c call) (output []byte, err error) {
	one, err := r.acquire(ctx, j)
	if err != nil {
		return nil, err
	}
	output, err = one.make(ctx, c)
	return output, cmp.Or(err, one.release())
}
