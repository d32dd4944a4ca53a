package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// FileStore is an optional interface of a [Store] that stores the files that were submitted with
// jobs.
type FileStore interface {
	// AttachmentPiece reads the piece of a file that begins at offset.
	AttachmentPiece(ctx context.Context, job, sha256 string, offset int64) ([]byte, error)
}

var _ jobs.FileReader = jobStorage{}

// WriteFile implements [jobs.FileReader].
func (s jobStorage) WriteFile(ctx context.Context, sum string, size int64, w io.Writer) error {
	kept, ok := s.store.(FileStore)
	if !ok {
		return jobs.Permanent(errors.New("the worker's storage keeps no files"))
	}
	s.ctx = ctx // context of the call of Plan, Merge or Finish that reads the file
	hash := sha256.New()
	for offset := int64(0); offset < size; {
		var piece []byte
		err := s.retry("read file", func() (err error) {
			piece, err = kept.AttachmentPiece(ctx, engine.JobOf(s.job), sum, offset)
			return err
		}, func(err error) bool { return errors.Is(err, store.ErrUnavailable) })
		switch {
		case errors.Is(err, store.ErrNotFound):
			return jobs.Permanent(fmt.Errorf("%w: a file was not submitted with the job, or was removed", err))
		case err != nil:
			return err
		}
		if offset += int64(len(piece)); len(piece) == 0 || offset > size {
			return jobs.Permanent(fmt.Errorf("the stored file %s has a piece that ends at %d of %d bytes", sum, offset, size))
		}
		hash.Write(piece)
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return jobs.Permanent(fmt.Errorf("the stored file has the SHA-256 %s, want %s", got, sum))
	}
	return nil
}
