package holdings

import (
	"errors"
	"os"
)

// NewFile creates a file in a folder that the system deletes when it is closed or the process ends.
func NewFile(dir string) (*os.File, error) {
	if f, err := unnamed(dir); err == nil {
		return f, nil
	}
	// A process that is killed between the next two calls leaves an empty file.
	f, err := os.CreateTemp(dir, "bellwether-spill-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
