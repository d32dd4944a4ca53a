package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

var errNoSpills = errors.New("this code of the job cannot move data to storage: only Map, Merge and a SecondPass of a job that runs can")

// PutSpill moves data from a partial of the first pass to storage, and returns the name by which [GetSpill] finds them in
// the second pass ([SecondPass]). What the second pass moves there is for Finish. The name is the SHA-256 of the data in
// hexadecimal, so a partial that contains it is the same in each run. The data are removed when the job has ended.
//
// Each call is a write to storage, so data should have about a megabyte. In a cluster PutSpill tries again until storage
// accepts the data or the context is done. In one process the data are in a temporary folder.
func PutSpill(ctx context.Context, data []byte) (name string, err error) {
	s := engine.SpillsOf(ctx)
	if s == nil {
		return "", Permanent(errNoSpills)
	}
	return s.PutSpill(ctx, data)
}

// GetSpill returns the data that PutSpill has moved to storage. The caller owns the data.
func GetSpill(ctx context.Context, name string) ([]byte, error) {
	s := engine.SpillsOf(ctx)
	if s == nil {
		return nil, Permanent(errNoSpills)
	}
	return s.Spill(ctx, name)
}

// tempSpills is the [engine.Spills] of a run in one process: a temporary folder with a file per name.
type tempSpills struct {
	folder func() (string, error) // makes the folder in its first call
}

// withTempSpills returns a context with spills in a temporary folder, which release removes.
func withTempSpills(ctx context.Context) (_ context.Context, release func()) {
	var made string
	s := tempSpills{sync.OnceValues(func() (_ string, err error) {
		made, err = os.MkdirTemp("", "bellwether-spills-")
		return made, err
	})}
	return engine.WithSpills(ctx, s), func() {
		if made != "" {
			_ = os.RemoveAll(made) // what remains is in the folder of temporary files
		}
	}
}

func (s tempSpills) PutSpill(_ context.Context, data []byte) (string, error) {
	folder, err := s.folder()
	if err != nil {
		return "", fmt.Errorf("move data to a file: %w", err)
	}
	name := File(data).SHA256()
	file, err := os.CreateTemp(folder, "part-")
	if err != nil {
		return "", fmt.Errorf("move data to a file: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		return "", fmt.Errorf("move data to a file: %w", err)
	}
	return name, nil
}

func (s tempSpills) Spill(_ context.Context, name string) ([]byte, error) {
	folder, err := s.folder()
	if err != nil {
		return nil, fmt.Errorf("read data from a file: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return nil, fmt.Errorf("read data from a file: %w", err)
	}
	if File(data).SHA256() != name {
		return nil, fmt.Errorf("read data from a file: %s has changed", filepath.Join(folder, name))
	}
	return data, nil
}
