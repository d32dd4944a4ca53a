package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/bellwether-compute/bellwether/jobs"
)

// MaxAttachmentPiece is the size in bytes of each piece of an attachment except the last piece. The
// piece size bounds the memory of readers. MaxAttachmentPiece must not change, because the keys of
// pieces contain their offsets in the attachment.
const MaxAttachmentPiece = 4 << 20

// Sizer is an optional interface of a [Blobs] driver whose storage has a size limit.
type Sizer interface {
	// Fits returns ErrTooLarge if size bytes exceed the storage's capacity, even if everything else is deleted,
	// and ErrFull if there is currently no room for size more bytes.
	Fits(ctx context.Context, size int64) error
}

// Fits returns [ErrTooLarge] or [ErrFull] if storage has no room for size more bytes. If the storage has no
// known limit, Fits returns nil.
func (s *Store) Fits(ctx context.Context, size int64) error {
	if s.sizer == nil {
		return nil
	}
	return s.sizer.Fits(ctx, size)
}

// PutAttachmentPiece writes the piece of an attachment that begins at offset. An attachment's key
// contains the SHA-256 of its bytes, so repeated calls of Finish that return the same result write
// the same pieces. Writing a piece again is not an error. An attachment becomes part of a job only
// when the final manifest commits a result that describes the attachment.
func (s *Store) PutAttachmentPiece(ctx context.Context, id, sha256 string, offset int64, piece []byte) error {
	err := s.putSame(ctx, attachments, id, piece, sha256, pieceName(offset))
	if errors.Is(err, ErrFull) {
		if stored, getErr := s.AttachmentPiece(ctx, id, sha256, offset); getErr == nil && bytes.Equal(stored, piece) {
			return nil // the piece is already in storage
		}
	}
	return err
}

// AttachmentPiece returns the piece of an attachment that begins at offset. After reading all
// pieces, the reader must check the SHA-256 of the attachment.
func (s *Store) AttachmentPiece(ctx context.Context, id, sha256 string, offset int64) ([]byte, error) {
	piece, _, err := read(ctx, s, attachments, id, undecoded, sha256, pieceName(offset))
	return piece, err
}

func pieceName(offset int64) string { return fmt.Sprintf("%020d", offset) }

// Files returns the files that were submitted with a job, whose parameters contain the SHA-256 of each file.
func (s *Store) Files(ctx context.Context, id string, params []byte) ([]jobs.File, error) {
	keys, err := s.list(ctx, path.Join(attachments, id)+"/") // sorted, so the pieces of a file are in order
	if err != nil {
		return nil, err
	}
	var files []jobs.File
	last := ""
	for _, key := range keys {
		sum := path.Base(path.Dir(key))
		if !bytes.Contains(params, []byte(sum)) {
			continue
		}
		piece, _, err := s.blobs.Get(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key, err)
		}
		if sum != last {
			files, last = append(files, nil), sum
		}
		files[len(files)-1] = append(files[len(files)-1], piece...)
	}
	return files, nil
}

// DropAttachment removes the pieces of an attachment. The caller must be sure that no committed or future
// result describes the attachment.
func (s *Store) DropAttachment(ctx context.Context, id, sha256 string) error {
	return s.dropAll(ctx, attachments, id, sha256)
}
