package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Traced returns a copy of the definition d that also records each execution of a partition. Each
// process writes its records to a separate file in dir, so the records survive the death of the
// process.
func Traced[P, T, R any](d jobs.Definition[P, T, R], dir string) jobs.Definition[P, T, R] {
	open := d.Open
	d.Open = func(ctx context.Context, p P, plan jobs.Plan) (jobs.Mapper[T], error) {
		name := filepath.Join(dir, strconv.Itoa(os.Getpid()))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open trace: %w", err)
		}
		mapper, err := open(ctx, p, plan)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return &tracer[T]{mapper, file}, nil
	}
	return d
}

type tracer[T any] struct {
	jobs.Mapper[T]
	file *os.File
}

func (t *tracer[T]) Map(ctx context.Context, partition uint64) (T, error) {
	return t.Fork()(ctx, partition)
}

func (t *tracer[T]) Fork() func(context.Context, uint64) (T, error) {
	do := mapFunc(t.Mapper)
	return func(ctx context.Context, partition uint64) (T, error) {
		value, err := do(ctx, partition)
		if err == nil {
			err = t.note(partition)
		}
		return value, err
	}
}

func (t *tracer[T]) Close() error { return errors.Join(closeMapper(t.Mapper), t.file.Close()) }

// executionSize is the size of a record in bytes. A record consists of the partition and the time
// in nanoseconds since 1970.
const executionSize = 16

// note writes a record with one write call, so that records are complete even if the process dies,
// and records of different slots do not mix.
func (t *tracer[T]) note(partition uint64) error {
	var b [executionSize]byte
	binary.LittleEndian.PutUint64(b[:8], partition)
	binary.LittleEndian.PutUint64(b[8:], uint64(time.Now().UnixNano()))
	if _, err := t.file.Write(b[:]); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

// mapFunc returns the Map function of a mapper for one slot.
func mapFunc[T any](m jobs.Mapper[T]) func(context.Context, uint64) (T, error) {
	if f, ok := m.(jobs.Forker[T]); ok {
		return f.Fork()
	}
	return m.Map
}

type execution struct {
	partition uint64
	pid       int
	at        time.Time // time at which the execution ended
}

// readTraces returns the executions of all processes in order of time.
func readTraces(dir string) ([]execution, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read traces: %w", err)
	}
	var all []execution
	for _, f := range files {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			return nil, fmt.Errorf("read traces: want files named by process ID, got %s", f.Name())
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read traces: %w", err)
		}
		for ; len(data) >= executionSize; data = data[executionSize:] {
			nanos := binary.LittleEndian.Uint64(data[8:])
			all = append(all, execution{binary.LittleEndian.Uint64(data), pid, time.Unix(0, int64(nanos))})
		}
	}
	slices.SortFunc(all, func(a, b execution) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.pid, b.pid)) })
	return all, nil
}

// between returns the executions between two moments. The executions must be in the order of time.
func between(executions []execution, from, to time.Time) []execution {
	at := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(executions, t, func(e execution, t time.Time) int { return e.at.Compare(t) })
		return i
	}
	return executions[at(from):max(at(from), at(to))]
}
