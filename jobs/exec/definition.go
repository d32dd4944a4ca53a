package exec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset"
)

// Result is the result of a job.
type Result struct {
	Output jobs.Attachment `json:"output"`         // the merged outputs
	Text   string          `json:"text,omitempty"` // the merged outputs again, if they are text of at most 16 KiB
}

const maxText = 16 << 10

// Define returns the definition of the job exec. The guard may be nil.
func Define(guard *Guard) jobs.Definition[Params, []byte, Result] {
	return Kind[Params]{
		Name: "exec", Version: "2", Summary: "run a program for each partition, and merge what the calls write",
		Defaults: defaults(), Guard: guard, Restricted: true,
		Program: func(p Params) Params { return p },
	}.Definition()
}

// Kind is a kind of job whose calls are made by a program, as those of the job exec.
type Kind[P any] struct {
	Name, Version, Summary string
	Defaults               P
	Guard                  *Guard // may be nil
	Restricted             bool

	// Program returns parameters of the job exec that make the same calls. The parameters p are
	// valid.
	Program func(p P) Params
	// Title, if not nil, returns the name of the program in errors. The default is the first word
	// of its command.
	Title func(p P) string
	// Check, if not nil, returns the text of a call that an idle process gets when the job is
	// opened, and that fails if the process cannot make calls.
	Check func(p P) string
	// Cache makes the variable BELLWETHER_CACHE of the program name a folder that all calls of this
	// process share. The variable is not set if there is no guard.
	Cache bool
}

// Definition returns the definition of the kind.
func (k Kind[P]) Definition() jobs.Definition[P, []byte, Result] {
	calls := runners{guard: k.Guard}
	return jobs.Definition[P, []byte, Result]{
		Name: k.Name, Version: k.Version, Summary: k.Summary, Defaults: k.Defaults,
		Plan: func(ctx context.Context, p P) (jobs.Plan, error) {
			params := k.Program(p)
			if params.Input == "" {
				return jobs.Plan{Partitions: max(1, params.Partitions)}, nil
			}
			return dataset.PlanLines(ctx, params.input())
		},
		Open: func(ctx context.Context, p P, plan jobs.Plan) (jobs.Mapper[[]byte], error) {
			m := mapper{partitions: plan.Partitions}
			params := k.Program(p)
			var err error
			if m.merge, err = parseMerge(params.Merge); err != nil {
				return nil, err
			}
			if params.Input != "" {
				if m.input, err = dataset.OpenLines(params.input(), plan); err != nil {
					return nil, err
				}
			}
			if m.runner, err = calls.acquire(ctx, k.job(p)); err != nil {
				return nil, err
			}
			if params.Keep && m.merge.name != byProgram.name { // a process that merges must not have other calls
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
		Finish: func(ctx context.Context, p P, root []byte) (r Result, err error) {
			m, body, err := open(root)
			if err == nil && m.text != nil {
				body, err = m.text(body)
			}
			if err == nil && k.Program(p).Finish {
				body, err = calls.finish(ctx, k.job(p), body)
			}
			if err != nil {
				return r, err
			}
			if len(body) <= maxText && utf8.Valid(body) {
				r.Text = string(body)
			}
			r.Output = jobs.NewAttachment("output", body)
			return r, nil
		},
		Codec:      jobs.Raw{},
		Restricted: k.Restricted,
	}
}

// job describes the calls of a job.
type job struct {
	id    string // identifies the kind and the parameters, and with them the files; see Kind.job
	name  string // of the program in errors
	check string
	cache bool
	Params
}

// job returns a description of the job's calls. Its ID is the same in each submission of a job with
// these parameters.
func (k Kind[P]) job(p P) job {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // parameters are strings, numbers and booleans, which JSON can always encode
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s\n%s", k.Name, k.Version, text))
	j := job{id: hex.EncodeToString(sum[:16]), cache: k.Cache, Params: k.Program(p)}
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
	input      *dataset.Lines // nil: standard input of the calls is empty
}

// Close implements io.Closer.
func (m mapper) Close() error { return m.runner.release() }

// Map implements jobs.Mapper.
func (m mapper) Map(ctx context.Context, partition uint64) ([]byte, error) {
	output, err := m.runner.make(ctx, m.call(partition))
	if err != nil {
		return nil, err
	}
	return m.partial(output)
}

// partial returns the partial of a call with the given output.
func (m mapper) partial(output []byte) ([]byte, error) {
	body, err := m.merge.normalize(output)
	if err != nil {
		return nil, jobs.Permanent(fmt.Errorf("output of %s for merge %s: %w", m.runner.program.name, m.merge.name, err))
	}
	return newPartial(m.merge, body), nil
}

// call returns the call of a partition.
func (m mapper) call(partition uint64) call {
	c := call{phase: "map", numbers: [2]uint64{partition, m.partitions}}
	c.env = []string{
		"BELLWETHER_PARTITION=" + strconv.FormatUint(partition, 10),
		"BELLWETHER_PARTITIONS=" + strconv.FormatUint(m.partitions, 10),
	}
	if m.input != nil {
		objects, offset, length := m.input.Range(partition)
		c.env = append(c.env,
			"BELLWETHER_INPUT="+strings.Join(objects, "\n"),
			"BELLWETHER_OFFSET="+strconv.FormatInt(offset, 10),
			"BELLWETHER_LENGTH="+strconv.FormatInt(length, 10))
		c.each = func(ctx context.Context, do func([]byte) error) error { return m.input.Each(ctx, partition, do) }
	}
	return c
}
