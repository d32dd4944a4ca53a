package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// exitStatus is the exit status with which the fault exit ends a process.
const exitStatus = 3

type mapper struct {
	params Params
	quick  bool // true if partitions take no extra time and do not fail
}

func open(_ context.Context, p Params, _ jobs.Plan) (jobs.Mapper[partial], error) {
	if p.OnceDir != "" {
		if info, err := os.Stat(p.OnceDir); err != nil || !info.IsDir() {
			return nil, jobs.Permanent(fmt.Errorf("parameter once-dir: got %q, takes a directory that exists", p.OnceDir))
		}
	}
	noFault := p.Fail < 0 && p.FailEvery == 0 && p.Permanent < 0 && p.Panic < 0 && p.Exit < 0
	return &mapper{params: p, quick: noFault && p.Spin == 0 && p.Sleep == 0}, nil
}

func (m *mapper) Map(ctx context.Context, partition uint64) (partial, error) {
	if !m.quick {
		if err := m.fault(partition); err != nil {
			return partial{}, err
		}
		if err := m.pass(ctx, partition); err != nil {
			return partial{}, err
		}
	}
	return newPartial(partition, m.params.PartialSize), nil
}

func (m *mapper) fault(partition uint64) error {
	p := m.params
	for _, f := range []struct {
		name    string
		ordered bool
		happen  func() error
	}{
		{"exit", is(p.Exit, partition), func() error { os.Exit(exitStatus); return nil }},
		{"panic", is(p.Panic, partition), func() error { panic("ordered by the parameter panic") }},
		{"permanent", is(p.Permanent, partition), func() error {
			return jobs.Permanent(errors.New("ordered by the parameter permanent"))
		}},
		{"fail", is(p.Fail, partition) || p.FailEvery > 0 && partition%p.FailEvery == 0, func() error {
			return errors.New("ordered by the parameter fail or fail-every")
		}},
	} {
		if !f.ordered {
			continue
		}
		due, err := m.due(f.name, partition)
		if err != nil {
			return err
		}
		if !due {
			continue
		}
		if err := f.happen(); err != nil {
			return err
		}
	}
	return nil
}

func is(ordered int64, partition uint64) bool { return ordered >= 0 && uint64(ordered) == partition }

// due reports whether a fault happens at the current attempt. If the fault happens, due creates the
// file that counts the attempt.
func (m *mapper) due(fault string, partition uint64) (bool, error) {
	if m.params.OnceDir == "" {
		return true, nil
	}
	for attempt := uint64(1); attempt <= m.params.Times; attempt++ {
		name := fmt.Sprintf("%s-%d-%d", fault, partition, attempt)
		file, err := os.OpenFile(filepath.Join(m.params.OnceDir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return false, jobs.Permanent(fmt.Errorf("remember fault: %w", err))
		}
		return true, file.Close()
	}
	return false, nil
}

func (m *mapper) pass(ctx context.Context, partition uint64) error {
	factor := time.Duration(1)
	if m.params.CostEvery > 0 && partition%m.params.CostEvery == 0 {
		factor = time.Duration(m.params.CostFactor)
	}
	if err := spin(ctx, m.params.Spin*factor); err != nil {
		return err
	}
	return sleep(ctx, m.params.Sleep*factor)
}

func spin(ctx context.Context, d time.Duration) error {
	for started := time.Now(); time.Since(started) < d; {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
