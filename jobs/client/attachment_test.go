package client_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/client"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/jetstream"
)

// attachedBytes returns n bytes of test data without repetition within a piece of an attachment.
func attachedBytes(n int) []byte {
	var pattern [251]byte
	for i := range pattern {
		pattern[i] = byte(i)
	}
	return bytes.Repeat(pattern[:], n/len(pattern)+1)[:n]
}

// countWriter is a writer that records the size of its largest write.
type countWriter struct {
	bytes.Buffer
	largest int
}

func (w *countWriter) Write(p []byte) (int, error) {
	w.largest = max(w.largest, len(p))
	return w.Buffer.Write(p)
}

// TestAttachment checks on each kind of storage that an attachment can be fetched, and that it is
// removed with its job.
func TestAttachment(t *testing.T) {
	for name, on := range storages {
		t.Run(name, func(t *testing.T) {
			where := on(t)
			startWorkers(t, where, 1)
			c := connect(t, where, 30*time.Second)
			const size = 2*store.MaxAttachmentPiece + 4711
			id := submit(t, c, client.SubmitOptions{Params: sumParams{N: 3, Attach: size}})
			if _, err := c.Wait(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			o, err := c.Outcome(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			a, ok := o.Attachment()
			if !ok || a.Size() != size || a.Name() != "bytes" {
				t.Fatalf("the attachment of %s is %+v, %v", o.Result, a, ok)
			}
			if result, err := client.Result[sumResult](t.Context(), c, id); err != nil || result.Bytes.SHA256() != a.SHA256() {
				t.Errorf("result: %+v, %v", result, err)
			}
			var got countWriter
			if err := c.WriteAttachment(t.Context(), id, a, &got); err != nil || !bytes.Equal(got.Bytes(), attachedBytes(size)) {
				t.Errorf("got %d bytes: %v", got.Len(), err)
			}
			if got.largest > store.MaxAttachmentPiece {
				t.Errorf("%d bytes were written at once", got.largest)
			}
			if _, err := c.Remove(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			want(t, "attachment of a removed job", c.WriteAttachment(t.Context(), id, a, io.Discard), client.ErrDamaged, "is missing")
		})
	}
}

func TestDamagedAttachment(t *testing.T) {
	where := onJetStream(t)
	c := connect(t, where, 30*time.Second)
	driver, err := jetstream.Open(t.Context(), c.Conn(), jetstream.Config{Cluster: "default"})
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Config{Blobs: driver})
	id := store.NewID(time.Now())
	a := jobs.NewAttachment("a", []byte("right"))
	for what, pieces := range map[string][]string{
		"its SHA-256 is": {"wrong"},
		"is missing":     {"rig"},
		"ends at 7 of 5": {"rig", "long"},
		"ends at 0 of 5": {""},
	} {
		if err := s.DropAttachment(t.Context(), id, a.SHA256()); err != nil {
			t.Fatal(err)
		}
		offset := int64(0)
		for _, p := range pieces {
			if err := s.PutAttachmentPiece(t.Context(), id, a.SHA256(), offset, []byte(p)); err != nil {
				t.Fatal(err)
			}
			offset += int64(len(p))
		}
		want(t, what, c.WriteAttachment(t.Context(), id, a, io.Discard), client.ErrDamaged, what)
	}
	if err := s.DropAttachment(t.Context(), id, a.SHA256()); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAttachmentPiece(t.Context(), id, a.SHA256(), 0, []byte("right")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk is full")
	if err := c.WriteAttachment(t.Context(), id, a, failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
