package executor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// attachmentStore keeps attachments in memory.
type attachmentStore struct {
	noStore
	mu       sync.Mutex
	pieces   map[string]map[int64][]byte // pieces by attachment and offset
	fits     error
	put      []error // errors of the next writes
	manifest store.Manifest
	absent   error
}

func (s *attachmentStore) Fits(context.Context, int64) error { return s.fits }

func (s *attachmentStore) PutAttachmentPiece(_ context.Context, _, sha256 string, offset int64, piece []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.put) > 0 {
		err := s.put[0]
		if s.put = s.put[1:]; err != nil {
			return err
		}
	}
	if offset%store.MaxAttachmentPiece != 0 || len(piece) > store.MaxAttachmentPiece {
		s.t.Errorf("a piece of %d bytes was written at %d", len(piece), offset)
	}
	if s.pieces[sha256] == nil {
		s.pieces[sha256] = make(map[int64][]byte)
	}
	s.pieces[sha256][offset] = bytes.Clone(piece)
	return nil
}

// written returns the bytes of an attachment.
func (s *attachmentStore) written(sha256 string) (data []byte) {
	for _, offset := range slices.Sorted(maps.Keys(s.pieces[sha256])) {
		data = append(data, s.pieces[sha256][offset]...)
	}
	return data
}

func (s *attachmentStore) DropAttachment(_ context.Context, _, sha256 string) error {
	delete(s.pieces, sha256)
	return nil
}

func (s *attachmentStore) Manifest(context.Context, string) (store.Manifest, store.Version, error) {
	return s.manifest, "", s.absent
}

func newAttachmentStore(t *testing.T) (*attachmentStore, jobStorage) {
	s := &attachmentStore{noStore: noStore{t}, pieces: make(map[string]map[int64][]byte)}
	w := &core{store: s, cfg: Config{Logger: slog.New(slog.DiscardHandler)}, storageLife: t.Context()}
	return s, jobStorage{w, "j", t.Context()}
}

func TestWriteAttachment(t *testing.T) {
	a := jobs.NewAttachment("a", bytes.Repeat([]byte("attachment"), store.MaxAttachmentPiece/4))
	s, storage := newAttachmentStore(t)
	s.fits = store.ErrFull // another call may have written the pieces
	s.put = []error{nil, store.ErrFull, store.ErrUnavailable, nil}
	if err := storage.writeAttachment(a); err != nil || !bytes.Equal(s.written(a.SHA256()), a.Data()) {
		t.Errorf("wrote %d of %d bytes: %v", len(s.written(a.SHA256())), a.Size(), err)
	}
	empty := jobs.NewAttachment("empty", nil)
	if err := storage.writeAttachment(empty); err != nil {
		t.Error(err)
	}
}

// An attachment that storage can never keep fails the job, with an error that contains its size.
func TestAttachmentTooLargeForStorage(t *testing.T) {
	a := jobs.NewAttachment("a", []byte("123"))
	s, storage := newAttachmentStore(t)
	s.fits = store.ErrTooLarge
	err := storage.writeAttachment(a)
	if !jobs.IsPermanent(err) || !strings.Contains(err.Error(), `attachment "a" of 3 bytes`) || len(s.pieces) != 0 {
		t.Errorf("got %v, and %d pieces", err, len(s.pieces))
	}
	s.fits, s.put = nil, []error{store.ErrTooLarge}
	if err := storage.writeAttachment(a); !jobs.IsPermanent(err) {
		t.Errorf("got %v", err)
	}
}

// If a worker of an old leader writes an attachment after the job's end, it removes the attachment
// unless the job's result contains it.
func TestLateAttachment(t *testing.T) {
	a := jobs.NewAttachment("a", []byte("123"))
	for _, test := range []struct {
		name     string
		manifest store.Manifest
		err      error
		kept     bool
	}{
		{"completed by another worker", store.Manifest{State: store.Completed}, nil, true},
		{"still running", store.Manifest{State: store.Running}, nil, true},
		{"not known", store.Manifest{}, errors.New("cannot read"), true},
		{"cancelled", store.Manifest{State: store.Cancelled}, nil, false},
		{"failed", store.Manifest{State: store.Failed}, nil, false},
		{"removed", store.Manifest{}, store.ErrNotFound, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, storage := newAttachmentStore(t)
			s.manifest, s.absent = test.manifest, test.err
			if err := storage.writeAttachment(a); err != nil {
				t.Fatal(err)
			}
			storage.dropAttachment(a)
			storage.removals.Wait()
			if kept := len(s.pieces) > 0; kept != test.kept {
				t.Errorf("kept is %v, want %v", kept, test.kept)
			}
		})
	}
}
