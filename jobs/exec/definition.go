package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Result is the result of a job.
type Result struct {
	Output jobs.Attachment `json:"output"`          // merged outputs of the job
	Files  *Files          `json:"files,omitempty"` // files that the calls have written; nil without the parameter output
	Text   string          `json:"text,omitempty"`  // copy of merged outputs of the job, if the outputs are text of at most 16 KiB
}

const maxText = 16 << 10

// Name is the name of the job.
const Name = "exec"

// Define returns the definition of the job exec. The guard may be nil.
func Define(guard *Guard) jobs.Definition[Params, []byte, Result] {
	return Kind[Params]{
		Name: Name, Version: "6", Summary: "run a program for each partition, and merge what the calls write",
		Defaults: defaults(), Guard: guard, Restricted: true,
		Program: func(p Params) Params { return p },
	}.Definition()
}

// Kind describes a kind of job whose calls run a program, like the calls of the job exec.
type Kind[P any] struct {
	Name, Version, Summary string
	Defaults               P
	Guard                  *Guard // guard of the calls' processes; may be nil
	Restricted             bool

	// Program returns parameters of the job exec that make the same calls as the parameters p. The
	// parameters p are valid.
	Program func(p P) Params
	// Title, if not nil, returns the name of the program in errors. The default is the first word
	// of the program's command.
	Title func(p P) string
	// Check, if not nil, returns the frame of a call that a kept process gets when the job is
	// opened. The call must fail if the process cannot make calls.
	Check func(p P) string
	// Cache sets the program's environment variable BELLWETHER_CACHE to a folder that all calls of
	// this process share. Without a guard, the variable is not set.
	Cache bool
	// Describe makes the data of each call of the phase map begin with a line of three words: the names
	// of the objects as a quoted string, the offset and the number of bytes. If there is no input, the
	// line is empty. Only a kept process needs the line, because its environment cannot describe a call.
	Describe bool
}

// Definition returns the definition of the kind of job.
func (k Kind[P]) Definition() jobs.Definition[P, []byte, Result] {
	calls := runners{guard: k.Guard}
	return jobs.Definition[P, []byte, Result]{
		Name: k.Name, Version: k.Version, Summary: k.Summary, Defaults: k.Defaults,
		Plan: func(ctx context.Context, p P) (jobs.Plan, error) {
			params := k.Program(p)
			plan, err := params.plan(ctx)
			if err != nil || params.Output == "" {
				return plan, err
			}
			return params.planOutput(ctx, plan)
		},
		Open: func(ctx context.Context, p P, plan jobs.Plan) (jobs.Mapper[[]byte], error) {
			params := k.Program(p)
			m := mapper{partitions: plan.Partitions, describe: k.Describe}
			var err error
			if plan, m.output, err = params.openOutput(plan); err != nil {
				return nil, err
			}
			if m.merge, err = parseMerge(params.Merge); err != nil {
				return nil, err
			}
			if m.input, err = params.open(ctx, plan); err != nil {
				return nil, err
			}
			if m.runner, err = calls.acquire(ctx, k.job(p)); err != nil {
				return nil, err
			}
			digest := sync.OnceValue(m.runner.program.digest)
			m.digest = func() []byte { return slices.Clone(digest()) }
			if params.Keep && m.merge.name != byProgram.name { // a process must not merge while it has other calls
				return streamer{m}, nil
			}
			return m, nil
		},
		Merge: mergePartials,
		Merger: func(p P) func(ctx context.Context, left, right []byte) ([]byte, error) {
			if k.Program(p).Merge != byProgram.name {
				return nil
			}
			j := k.job(p)
			return func(ctx context.Context, left, right []byte) ([]byte, error) { return calls.merge(ctx, j, left, right) }
		},
		Finish: func(ctx context.Context, p P, root []byte) (Result, error) { return k.finish(ctx, &calls, p, root) },
		Large: &jobs.Large[P, Result]{
			Has:   func(p P) bool { return k.Program(p).mergesStreams() },
			Merge: mergeStreams,
			Finish: func(ctx context.Context, p P, root *io.SectionReader) (Result, error) {
				return k.finishLarge(ctx, &calls, p, root)
			},
		},
		Estimate: func(ctx context.Context, p P, prefix []byte, n uint64) (any, error) {
			return calls.estimate(ctx, k.job(p), prefix, n)
		},
		NoEstimates: func(p P) bool { return !k.Program(p).Estimate },
		Codec:       jobs.Raw{},
		Restricted:  k.Restricted,
		Items: func(ctx context.Context, p P, plan jobs.Plan) (func(partition uint64) string, error) {
			params := k.Program(p)
			plan, _, err := params.openOutput(plan)
			if err != nil {
				return nil, err
			}
			in, err := params.open(ctx, plan)
			return in.name, err
		},
		NoAudit: func(p P) string { return k.Program(p).noAudit() },
		NoReuse: func(p P) string { return k.Program(p).noReuse() },
	}
}

// finish computes the result of a job from the partial of the root.
func (k Kind[P]) finish(ctx context.Context, calls *runners, p P, root []byte) (r Result, err error) {
	f, body, err := openText(root)
	if err == nil && k.Program(p).Finish {
		body, err = calls.finish(ctx, k.job(p), body)
	}
	if err == nil && f.output != "" {
		r.Files, err = k.Program(p).commit(ctx, f) // last, because a job with a committed output must not fail
	}
	if err != nil {
		return r, err
	}
	if len(body) <= maxText && utf8.Valid(body) {
		r.Text = string(body)
	}
	r.Output = jobs.NewAttachment("output", body)
	return r, nil
}

// finishLarge computes the result of a job from a root that is in a file.
func (k Kind[P]) finishLarge(ctx context.Context, calls *runners, p P, root *io.SectionReader) (r Result, err error) {
	start := &bodyReader{from: root}
	_, f, err := start.head()
	if err != nil {
		return r, err
	}
	body := start.rest(root)
	if k.Program(p).Finish || body.Size() <= maxText {
		whole := make([]byte, root.Size())
		if _, err := root.ReadAt(whole, 0); err != nil && !errors.Is(err, io.EOF) {
			return r, err
		}
		return k.finish(ctx, calls, p, whole)
	}
	r.Output, err = jobs.AttachSection("output", body)
	if err == nil && f.output != "" {
		r.Files, err = k.Program(p).commit(ctx, f) // last, because a job with a committed output must not fail
	}
	return r, err
}

// job describes the calls of a job.
type job struct {
	id    string // identification of the kind of job and its parameters, which include the SHA-256 of the files
	name  string // name of the program in errors
	check string
	cache bool

	restricted bool
	Params
}

// job returns a description of the job's calls. The ID of the description is the same in each
// submission of a job with the same parameters.
func (k Kind[P]) job(p P) job {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot happen, because parameters are strings, numbers and booleans
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", k.Name, k.Version, text))
	j := job{id: hex.EncodeToString(sum[:16]), cache: k.Cache, restricted: k.Restricted, Params: k.Program(p)}
	if k.Title != nil {
		j.name = k.Title(p)
	}
	if k.Check != nil {
		j.check = k.Check(p)
	}
	return j
}

type mapper struct {
	runner     *runner
	merge      merge
	partitions uint64
	input      input
	output     *outputFiles  // nil without the parameter output
	describe   bool          // value of the field Describe of the kind
	digest     func() []byte // returns a copy of the digest of the program
}

// Close releases the runner of the job.
func (m mapper) Close() error { return m.runner.release() }

// Map calls the program for a partition and returns the partial.
func (m mapper) Map(ctx context.Context, partition uint64) ([]byte, error) {
	c := m.call(partition)
	var f files
	if m.output != nil {
		c.collect = func(ctx context.Context, out outFolder) (err error) {
			f, err = m.output.store(ctx, partition, m.input.name(partition), out)
			return err
		}
	}
	output, err := m.runner.make(ctx, c)
	if err != nil {
		return nil, err
	}
	return m.partial(output, f)
}

// CleanUp implements jobs.Cleaner.
func (m mapper) CleanUp(ctx context.Context) error {
	if m.output == nil {
		return nil
	}
	return m.output.folder(ctx).Abandon(ctx)
}

// partial returns the partial of a call with the given output and files.
func (m mapper) partial(output []byte, f files) ([]byte, error) {
	body, err := m.merge.normalize(output)
	if err != nil {
		return nil, jobs.Permanent(fmt.Errorf("map: output of %s for merge %s: %w", m.runner.program.name, m.merge.name, err))
	}
	return newPartial(m.merge, f, body), nil
}

// call returns the description of the call for a partition.
func (m mapper) call(partition uint64) call {
	c := call{phase: "map", numbers: [2]uint64{partition, m.partitions}}
	c.env = []string{
		"BELLWETHER_PARTITION=" + strconv.FormatUint(partition, 10),
		"BELLWETHER_PARTITIONS=" + strconv.FormatUint(m.partitions, 10),
	}
	if m.describe {
		c.prefix = m.description(partition)
	}
	m.input.add(partition, &c)
	return c
}

// description returns the line that describes the input of a partition: see Kind.
func (m mapper) description(partition uint64) []byte {
	if m.input.lines == nil {
		return []byte{'\n'}
	}
	objects, offset, length := m.input.lines.Range(partition)
	return fmt.Appendf(nil, "%q %d %d\n", strings.Join(objects, "\n"), offset, length)
}
