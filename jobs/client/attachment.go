package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Attachment describes the attachment of the result. If the result has no attachment, Attachment returns false.
// [Client.WriteAttachment] fetches the bytes.
func (o Outcome) Attachment() (jobs.Attachment, bool) { return jobs.FindAttachment(o.Result) }

// WriteAttachment writes the bytes of an attachment of a job to w, a few MiB at a time.
// WriteAttachment fails with [ErrDamaged] if the stored bytes do not have the SHA-256 that the
// result contains. When WriteAttachment returns [ErrDamaged], it has already written wrong bytes to
// w.
func (c *Client) WriteAttachment(ctx context.Context, id string, a jobs.Attachment, w io.Writer) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	hash := sha256.New()
	for offset := int64(0); offset < a.Size(); {
		piece, err := c.attachmentPiece(ctx, s, id, a, offset)
		if err != nil {
			return err
		}
		if offset += int64(len(piece)); len(piece) == 0 || offset > a.Size() {
			return errorf(ErrDamaged, "the attachment of job %s is damaged: a stored piece of %d bytes ends at %d of %d bytes", id, len(piece), offset, a.Size())
		}
		hash.Write(piece)
		if _, err := w.Write(piece); err != nil {
			return fmt.Errorf("write the attachment of job %s: %w", id, err)
		}
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != a.SHA256() {
		return errorf(ErrDamaged, "the stored attachment of job %s is damaged: its SHA-256 is %s, the result says %s", id, got, a.SHA256())
	}
	return nil
}

// attachmentPiece retries for Config.Timeout while storage is unavailable, because one failed read must not end
// the transfer of a large attachment.
func (c *Client) attachmentPiece(ctx context.Context, s *store.Store, id string, a jobs.Attachment, offset int64) ([]byte, error) {
	for began := time.Now(); ; {
		piece, err := s.AttachmentPiece(ctx, id, a.SHA256(), offset)
		switch {
		case err == nil:
			return piece, nil
		case errors.Is(err, store.ErrNotFound):
			return nil, errorf(ErrDamaged, "the stored attachment of job %s is damaged: its piece at byte %d is missing", id, offset)
		case !errors.Is(err, store.ErrUnavailable) || time.Since(began) > c.cfg.Timeout || sleep(ctx, askInterval) != nil:
			return nil, c.explain(fmt.Errorf("read the attachment of job %s: %w", id, err))
		}
	}
}
