package exec

import (
	"context"
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
	return jobs.Definition[Params, []byte, Result]{
		Name: "exec", Version: "1", Summary: "run a program for each partition, and merge what the calls write",
		Defaults: defaults(),
		Plan: func(ctx context.Context, p Params) (jobs.Plan, error) {
			if p.Input == "" {
				return jobs.Plan{Partitions: max(1, p.Partitions)}, nil
			}
			return dataset.PlanLines(ctx, p.input())
		},
		Open: func(ctx context.Context, p Params, plan jobs.Plan) (jobs.Mapper[[]byte], error) {
			m := mapper{guard: guard, partitions: plan.Partitions}
			var err error
			if m.program, err = p.program(); err != nil {
				return nil, err
			}
			if m.merge, err = parseMerge(p.Merge); err != nil {
				return nil, err
			}
			if p.Input != "" {
				if m.input, err = dataset.OpenLines(p.input(), plan); err != nil {
					return nil, err
				}
			}
			files, err := p.files()
			if err != nil {
				return nil, err
			}
			if m.program.folder, err = fetch(ctx, guard, files); err != nil {
				return nil, err
			}
			if p.Keep {
				m.kept = &keeper{program: m.program, guard: guard, env: m.env()}
			}
			return m, nil
		},
		Merge: mergePartials,
		Finish: func(_ context.Context, _ Params, root []byte) (r Result, err error) {
			_, body, err := open(root)
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
		Restricted: true,
	}
}

type mapper struct {
	guard      *Guard
	program    program
	merge      merge
	partitions uint64
	input      *dataset.Lines // nil: standard input of the calls is empty
	kept       *keeper        // nil: each call is a process
}

// Close implements io.Closer.
func (m mapper) Close() error {
	if m.kept != nil {
		m.kept.close()
	}
	return m.program.folder.Close()
}

// Map implements jobs.Mapper.
func (m mapper) Map(ctx context.Context, partition uint64) ([]byte, error) {
	output, err := retryTemporary(ctx, func() ([]byte, error) { return m.call(ctx, partition) })
	if err != nil {
		return nil, err
	}
	body, err := m.merge.normalize(output)
	if err != nil {
		return nil, jobs.Permanent(fmt.Errorf("output of %s for merge %s: %w", m.program.args[0], m.merge.name, err))
	}
	return newPartial(m.merge, body), nil
}

func (m mapper) call(ctx context.Context, partition uint64) ([]byte, error) {
	if m.kept == nil {
		return m.program.once(ctx, m.guard, m.stdin(partition))
	}
	var input []byte
	if m.input != nil {
		err := m.input.Each(ctx, partition, func(data []byte) error {
			input = append(input, data...)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
	}
	return m.kept.once(ctx, partition, m.partitions, input)
}

// env returns the variables that all calls of the job have.
func (m mapper) env() []string {
	return []string{
		"BELLWETHER_PHASE=map",
		"BELLWETHER_PARTITIONS=" + strconv.FormatUint(m.partitions, 10),
		"BELLWETHER_MEMORY=" + strconv.FormatInt(m.program.memory, 10),
	}
}

// stdin returns what the call of a partition gets.
func (m mapper) stdin(partition uint64) stdin {
	in := stdin{env: append(m.env(), "BELLWETHER_PARTITION="+strconv.FormatUint(partition, 10))}
	if m.input != nil {
		objects, offset, length := m.input.Range(partition)
		in.env = append(in.env,
			"BELLWETHER_INPUT="+strings.Join(objects, "\n"),
			"BELLWETHER_OFFSET="+strconv.FormatInt(offset, 10),
			"BELLWETHER_LENGTH="+strconv.FormatInt(length, 10))
		in.each = func(ctx context.Context, do func([]byte) error) error { return m.input.Each(ctx, partition, do) }
	}
	return in
}
