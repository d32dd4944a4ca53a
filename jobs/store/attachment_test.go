package store_test

import (
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

var someDigest = strings.Repeat("0a", 32)

func TestAttachmentPieces(t *testing.T) {
	f := newFixture()
	id := newSpec().ID
	for range 2 {
		must(t, f.PutAttachmentPiece(t.Context(), id, someDigest, 0, []byte("first")))
		must(t, f.PutAttachmentPiece(t.Context(), id, someDigest, 5, []byte("second")))
	}
	if piece, err := f.AttachmentPiece(t.Context(), id, someDigest, 5); err != nil || string(piece) != "second" {
		t.Errorf("got %q, %v", piece, err)
	}
	_, err := f.AttachmentPiece(t.Context(), id, someDigest, 6)
	want(t, err, store.ErrNotFound)
	want(t, f.PutAttachmentPiece(t.Context(), id, "../"+someDigest, 0, nil), store.ErrNotFound)

	// If storage is full, a piece that is already stored can be written again, but a new piece
	// cannot.
	f.blobs.Inject(func(c memory.Call) error {
		if c.Operation == memory.Put {
			return store.ErrFull
		}
		return nil
	})
	must(t, f.PutAttachmentPiece(t.Context(), id, someDigest, 5, []byte("second")))
	want(t, f.PutAttachmentPiece(t.Context(), id, someDigest, 11, []byte("third")), store.ErrFull)
	f.blobs.Inject(nil)

	must(t, f.DropAttachment(t.Context(), id, someDigest))
	_, err = f.AttachmentPiece(t.Context(), id, someDigest, 0)
	want(t, err, store.ErrNotFound)
}

// TestLateAttachment checks that HalfRemoved returns a job if a piece of its attachment is written
// after the job was removed.
func TestLateAttachment(t *testing.T) {
	f := newFixture()
	spec := newSpec()
	fill(t, f, spec)
	must(t, f.Remove(t.Context(), spec.ID))
	must(t, f.PutAttachmentPiece(t.Context(), spec.ID, someDigest, 0, []byte("late")))
	if ids, err := f.HalfRemoved(t.Context()); err != nil || len(ids) != 1 || ids[0] != spec.ID {
		t.Fatalf("half removed are %q, %v", ids, err)
	}
	must(t, f.Remove(t.Context(), spec.ID))
	if left := keys(t, f); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
}
