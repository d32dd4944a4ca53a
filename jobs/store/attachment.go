package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// MaxAttachmentPiece is the size in bytes of each piece of an attachment but the last. It
// bounds the memory of readers. It must not change, because pieces are named by their offset.
const MaxAttachmentPiece = 4 << 20

// Sizer is an optional interface of a Blobs whose storage has a limit.
type Sizer interface {
	// Fits returns ErrTooLarge if storage can never keep size more bytes, whatever is
	// deleted, and ErrFull if it has no room for them now.
	Fits(ctx context.Context, size int64) error
}

// Fits returns [ErrTooLarge] or [ErrFull] if storage has no room for size more bytes. Storage
// whose limit is not known has room.
func (s *Store) Fits(ctx context.Context, size int64) error {
	if s.sizer == nil {
		return nil
	}
	return s.sizer.Fits(ctx, size)
}

// PutAttachmentPiece writes the piece of an attachment that begins at offset. An attachment
// is named by the SHA-256 of its bytes, so all calls of Finish that return the same result
// write the same pieces. Writing a piece again is not an error. Only a result that a final
// manifest has committed makes an attachment part of a job.
func (s *Store) PutAttachmentPiece(ctx context.Context, id, sha256 string, offset int64, piece []byte) error {
	key, err := attachmentKey(id, sha256, offset)
	if err != nil {
		return err
	}
	_, err = s.blobs.Put(ctx, key, piece, IfAbsent)
	if errors.Is(err, ErrFull) {
		if stored, _, getErr := s.blobs.Get(ctx, key); getErr == nil && bytes.Equal(stored, piece) {
			return nil // a stored piece needs no room
		}
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// AttachmentPiece returns the piece of an attachment that begins at offset. The reader must
// check the digest of all pieces.
func (s *Store) AttachmentPiece(ctx context.Context, id, sha256 string, offset int64) ([]byte, error) {
	key, err := attachmentKey(id, sha256, offset)
	if err != nil {
		return nil, err
	}
	piece, _, err := s.blobs.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return piece, nil
}

func attachmentKey(id, sha256 string, offset int64) (string, error) {
	return jobKey(attachments, id, sha256, fmt.Sprintf("%020d", offset))
}

// DropAttachment removes the pieces of an attachment. The caller must know that no result
// that is or will be committed contains it.
func (s *Store) DropAttachment(ctx context.Context, id, sha256 string) error {
	return s.dropAll(ctx, attachments, id, sha256)
}
