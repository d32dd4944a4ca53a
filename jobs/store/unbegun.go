package store

import (
	"context"
	"errors"
	"fmt"
	"path"
)

// Unbegun is a job that has a spec and no manifest, and that is not on the poison list.
type Unbegun struct {
	ID    string
	Files int // number of stored pieces of the job's files; grows during Submit
}

// Unbegun returns up to limit jobs that no leader has begun, oldest first, without those that skip
// reports true for. The message of such a job is in the queue, unless the queue has lost it, or the
// job is still being submitted, or its submitter has died.
func (s *Store) Unbegun(ctx context.Context, skip func(id string) bool, limit int) ([]Unbegun, error) {
	submitted, err := s.Jobs(ctx) // before the manifests, so that a job that begins now is not returned
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, kind := range []string{manifests, poisons} {
		ids, err := s.listIDs(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			known[id] = true
		}
	}
	var found []Unbegun
	for _, id := range submitted {
		if known[id] || skip(id) || len(found) == limit {
			continue
		}
		pieces, err := s.list(ctx, path.Join(attachments, id)+"/")
		if err != nil {
			return nil, fmt.Errorf("list the files of job %s: %w", id, err)
		}
		found = append(found, Unbegun{id, len(pieces)})
	}
	return found, nil
}

// Resend adds the message of a job to the queue again, unless a leader has begun the job or the job
// was removed. If the queue still has an earlier message, the job is delivered twice, which does no
// harm.
func (s *Store) Resend(ctx context.Context, id string) error {
	if _, _, err := s.Manifest(ctx, id); !errors.Is(err, ErrNotFound) {
		return err
	}
	spec, err := s.Spec(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.queue.Send(ctx, encodeSubmission(submissionRecord{id, spec.Written})); err != nil {
		return fmt.Errorf("send submission %s again: %w", id, err)
	}
	return nil
}
