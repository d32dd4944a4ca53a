package dataset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/output"
)

// OutputFolder returns the folder that a job's parameter output names, for an output with an ID.
func OutputFolder(ctx context.Context, name, id string, format output.Format) output.Folder {
	if !strings.HasSuffix(name, "/") {
		name += "/"
	}
	return output.Folder{Driver: Open(ctx), Name: blobURL(name), ID: id, Format: format}
}

// CheckOutput returns an error if a job cannot write to the folder that its parameter output names, for
// example because the folder is in use. The error is permanent if another attempt would fail too.
func CheckOutput(ctx context.Context, name string) error {
	storage, folder := Open(ctx), OutputFolder(ctx, name, "", "").Name
	err := storage.CheckCreate(folder)
	if err == nil {
		err = output.Check(ctx, storage, folder)
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("parameter output: %s: %w", name, err)
	if errors.Is(err, output.ErrExists) || refused(err) {
		err = jobs.Permanent(err)
	}
	return err
}
