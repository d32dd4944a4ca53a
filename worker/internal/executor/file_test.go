package executor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// fileStore keeps one file, and first returns errors.
type fileStore struct {
	noStore
	file   jobs.File
	errors []error
}

func (s *fileStore) AttachmentPiece(_ context.Context, job, sha256 string, offset int64) ([]byte, error) {
	if len(s.errors) > 0 {
		err := s.errors[0]
		s.errors = s.errors[1:]
		return nil, err
	}
	if job != "j" || sha256 != jobs.File("the program").SHA256() || offset >= int64(len(s.file)) {
		return nil, store.ErrNotFound
	}
	return s.file[offset:min(offset+4, int64(len(s.file)))], nil
}

func TestWriteFile(t *testing.T) {
	for _, test := range []struct {
		stored string
		errors []error
		want   string // part of the error
	}{
		{stored: "the program"},
		{stored: "the program", errors: []error{store.ErrUnavailable, store.ErrUnavailable}},
		{stored: "", want: "a file was not submitted with the job"},
		{stored: "the pro", want: "a file was not submitted with the job"},
		{stored: "THE PROGRAM", want: "the stored file has the SHA-256"},
		{stored: "the program and more", want: "has a piece that ends at 12 of 11 bytes"},
		{stored: "the program", errors: []error{errors.New("no permission")}, want: "no permission"},
	} {
		s := &fileStore{noStore: noStore{t}, file: jobs.File(test.stored), errors: test.errors}
		storage := jobStorage{&core{store: s, cfg: Config{Logger: slog.New(slog.DiscardHandler)}}, "j", t.Context()}
		var got bytes.Buffer
		file := jobs.File("the program")
		err := jobs.WriteFile(jobs.WithFiles(t.Context(), storage), file.SHA256(), int64(len(file)), &got)
		if test.want == "" {
			if err != nil || got.String() != "the program" {
				t.Errorf("%q: got %q, %v", test.stored, got.String(), err)
			}
			continue
		}
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(test.want)) {
			t.Errorf("%q: %v, want %q", test.stored, err, test.want)
		}
	}
}
