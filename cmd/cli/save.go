package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bellwether-compute/bellwether/cmd/internal/answer"
	"github.com/bellwether-compute/bellwether/cmd/internal/human"
	"github.com/bellwether-compute/bellwether/jobs"
)

const saveHelp = "write the attachment of the result to this file; -: to standard output, which then has nothing else"

// showOrSave shows an outcome, unless its attachment will be written to standard output.
func (a *app) showOrSave(o answer.Outcome, save string) error {
	if save == standardOutput {
		return o.Err()
	}
	return o.Show(a.App)
}

// standardOutput is the value of --save for standard output.
const standardOutput = "-"

// saveAttachment writes an attachment to a file. An existing file is replaced only after the
// function write has written all bytes.
func (a *app) saveAttachment(file string, attachment jobs.Attachment, write func(w io.Writer) error) (err error) {
	if file == standardOutput {
		return write(a.Out)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("save the attachment: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("save the attachment: %w", err), os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	a.Note("saved the attachment %s, %s, as %s", attachment.Name(), human.Size(attachment.Size()), file)
	return nil
}
