package jobs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

var errNoSpills = errors.New("this code cannot move data to storage: only the code of a running job with a SecondPass or in shards can")

// PutSpill moves data from a partial of a [Sharded] job, or of the first pass of a job with a [SecondPass], to storage, and
// returns the name by which [GetSpill] and [AttachSpills] find them: in the second pass, or in Finish of a sharded job.
// What the second pass moves there is for Finish. The name is the SHA-256 of the data in
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

// spillsAhead is the number of spills that are read at the same time.
const spillsAhead = 4

// spillsOf yields the data of spills in order. The caller owns them. The sequence ends with the first error.
func spillsOf(ctx context.Context, names []string) iter.Seq2[[]byte, error] {
	type read struct {
		data []byte
		err  error
	}
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var reads sync.WaitGroup
		defer reads.Wait()
		defer cancel()
		var ahead []chan read
		for i := range names {
			for next := i + len(ahead); len(ahead) < spillsAhead && next < len(names); next++ {
				done := make(chan read, 1)
				reads.Go(func() {
					data, err := GetSpill(ctx, names[next])
					done <- read{data, err}
				})
				ahead = append(ahead, done)
			}
			r := <-ahead[0]
			if ahead = ahead[1:]; !yield(r.data, r.err) || r.err != nil {
				return
			}
		}
	}
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
