package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"io"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// File is a file that is submitted together with a job, such as a program that the job runs. The
// parameters of the job should contain the SHA-256 of the file. The job's code reads the file with
// [WriteFile], and jobs with different files have different parameters.
type File []byte

// SHA256 returns the SHA-256 of the file in hexadecimal.
func (f File) SHA256() string {
	sum := engine.Digest(f)
	return hex.EncodeToString(sum[:])
}

// FileReader reads the files that were submitted with a job.
type FileReader interface {
	// WriteFile writes the file that has the given SHA-256 and the given size in bytes to w. If the
	// file cannot be read completely, WriteFile returns an error, but may already have written a
	// part of the file.
	WriteFile(ctx context.Context, sha256 string, size int64, w io.Writer) error
}

type filesKey struct{}

// WithFiles returns a context with which the functions of a definition can read the files of their
// job.
func WithFiles(ctx context.Context, files FileReader) context.Context {
	return context.WithValue(ctx, filesKey{}, files)
}

// WriteFile writes a file that was submitted with the job to w. A definition's functions Plan, Open
// and Finish, and the functions of Merger, can call WriteFile with the context that they get.
func WriteFile(ctx context.Context, sha256 string, size int64, w io.Writer) error {
	files, ok := ctx.Value(filesKey{}).(FileReader)
	if !ok {
		return errors.New("this run of the job has no files")
	}
	return files.WriteFile(ctx, sha256, size, w)
}

// Files is a FileReader for files in memory.
type Files []File

func (list Files) WriteFile(_ context.Context, sha256 string, _ int64, w io.Writer) error {
	for _, f := range list {
		if f.SHA256() == sha256 {
			_, err := w.Write(f)
			return err
		}
	}
	return Permanent(errors.New("the file was not submitted with the job"))
}
