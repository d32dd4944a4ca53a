package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// AttachmentStore is an optional interface of a [Store] that keeps attachments of results.
type AttachmentStore interface {
	// Fits returns store.ErrTooLarge if size more bytes cannot fit into storage even after
	// everything else was deleted.
	Fits(ctx context.Context, size int64) error
	// PutAttachmentPiece stores a piece of an attachment. Storing the same piece again is not an
	// error.
	PutAttachmentPiece(ctx context.Context, job, sha256 string, offset int64, piece []byte) error
	// DropAttachment removes all pieces of an attachment.
	DropAttachment(ctx context.Context, job, sha256 string) error
	// Manifest reads the checkpoint of a job.
	Manifest(ctx context.Context, job string) (store.Manifest, store.Version, error)
}

// writeAttachment writes the attachment of a result before the worker reports the result. The
// attachment is therefore complete before a leader can commit the result. If the process dies
// during the write, some pieces of the attachment remain in storage. The next call of Finish
// overwrites the remaining pieces, because it uses the same keys; otherwise they are removed with
// the job.
func (s jobStorage) writeAttachment(a engine.Attachment) error {
	kept, ok := s.store.(AttachmentStore)
	if !ok {
		return jobs.Permanent(fmt.Errorf("attachment %q of %d bytes: the worker's storage keeps no attachments", a.Name(), a.Size()))
	}
	retryable := func(err error) bool { return !errors.Is(err, store.ErrTooLarge) }
	err := s.retry("check room for attachment", func() error {
		err := kept.Fits(s.ctx, a.Size())
		if errors.Is(err, store.ErrFull) { // overwriting pieces of an earlier call of Finish needs no additional space
			return nil
		}
		return err
	}, retryable)
	if err == nil {
		err = s.writePieces(kept, a, retryable)
	}
	if errors.Is(err, store.ErrTooLarge) {
		return jobs.Permanent(fmt.Errorf("attachment %q of %d bytes: %w", a.Name(), a.Size(), err))
	}
	return err
}

// writesAtOnce is the number of pieces of an attachment that are written at the same time.
const writesAtOnce = 4

func (s jobStorage) writePieces(kept AttachmentStore, a engine.Attachment, retryable func(error) bool) error {
	writes, ctx := errgroup.WithContext(s.ctx)
	writes.SetLimit(writesAtOnce)
	s.ctx = ctx
	next := int64(0)
	for piece, err := range a.Pieces(s.provide(ctx, true), store.MaxAttachmentPiece) {
		if err != nil || ctx.Err() != nil { // the error of the write that ended ctx comes first
			return cmp.Or(writes.Wait(), err)
		}
		offset := next
		writes.Go(func() error {
			return s.retry("write attachment", func() error {
				return s.uncut(func(ctx context.Context) error {
					return kept.PutAttachmentPiece(ctx, engine.JobOf(s.job), a.SHA256(), offset, piece)
				})
			}, retryable)
		})
		next += int64(len(piece))
	}
	return writes.Wait()
}

// dropAttachment starts to remove the attachment of a job that has ended. The attachment of a
// completed job is kept, because the job's result may describe an equal attachment that another
// worker wrote.
func (s jobStorage) dropAttachment(a engine.Attachment) {
	if kept, ok := s.store.(AttachmentStore); ok {
		s.removals.Go(func() { s.removeAttachment(kept, a) })
	}
}

func (s jobStorage) removeAttachment(kept AttachmentStore, a engine.Attachment) {
	ctx, cancel := context.WithTimeout(s.storageLife, dropTimeout)
	defer cancel()
	manifest, _, err := kept.Manifest(ctx, engine.JobOf(s.job))
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = kept.DropAttachment(ctx, engine.JobOf(s.job), a.SHA256())
	case err == nil && manifest.State.Final() && manifest.State != store.Completed:
		err = kept.DropAttachment(ctx, engine.JobOf(s.job), a.SHA256())
	}
	if err != nil {
		s.cfg.Logger.Warn("Could not remove the attachment of a job that has ended", "job", s.job, "attachment", a.Name(), "error", err)
	}
}
