package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/field"
)

// MaxDeliveries is the largest number of times that a submission is delivered before a leader has
// written the job's manifest. A leader writes the manifest before any code of the job runs. The
// limit is high, because a leader that dies before it writes the manifest rarely dies because of
// the job.
const MaxDeliveries = 20

// Submission is a submitted job that was received from the queue. A submission is delivered again
// unless it is deleted or extended in time.
type Submission struct {
	ID         string  // job ID
	Spec       Version // version of the spec that was submitted; empty if an older program submitted the job
	Deliveries int     // number of times that the submission has been received so far
	message    Message
}

// IsOf reports whether a spec in storage is the spec that this submission refers to. IsOf returns
// false if the job was removed after its submission and a delayed write of the submitter has stored
// the spec again.
func (s *Submission) IsOf(spec StoredSpec) bool { return s.Spec == "" || s.Spec == spec.Written }

// Extend hides the submission from other receivers for the configured time from now.
func (s *Submission) Extend(ctx context.Context) error {
	if err := s.message.Extend(ctx); err != nil {
		return fmt.Errorf("extend submission %s: %w", s.ID, err)
	}
	return nil
}

// Delete removes the submission from the queue. Delete may be called more than once.
func (s *Submission) Delete(ctx context.Context) error {
	if err := s.message.Delete(ctx); err != nil {
		return fmt.Errorf("delete submission %s: %w", s.ID, err)
	}
	return nil
}

// Submit writes the spec and the job's files, and then adds the job to the queue. Submit may be
// called again with the same spec, for example after an error; the job may then be delivered twice.
// If another spec with the same job ID exists, the error is [ErrConflict].
func (s *Store) Submit(ctx context.Context, spec Spec, files ...jobs.File) error {
	_, err := s.SubmitVersion(ctx, spec, files...)
	return err
}

// SubmitVersion does the same as [Store.Submit], and returns the version of the spec.
func (s *Store) SubmitVersion(ctx context.Context, spec Spec, files ...jobs.File) (Version, error) {
	if err := spec.check(); err != nil {
		return "", fmt.Errorf("submit job: %w", err)
	}
	written, err := s.putOnce(ctx, specs, spec.ID, encodeSpec(spec))
	if err != nil {
		return "", err
	}
	err = s.putFiles(ctx, spec.ID, files)
	if err == nil {
		err = s.queue.Send(ctx, encodeSubmission(submissionRecord{spec.ID, written}))
	}
	switch {
	case errors.Is(err, ErrFull) || errors.Is(err, ErrTooLarge): // the queue contains no message for the spec, so no leader will read the spec
		err = errors.Join(err, s.dropAll(ctx, attachments, spec.ID), s.remove(ctx, specs, spec.ID))
		fallthrough
	case err != nil:
		return "", fmt.Errorf("send submission %s: %w", spec.ID, err)
	}
	return written, nil
}

// putFiles writes files as pieces of attachments, so that they are removed together with the job.
func (s *Store) putFiles(ctx context.Context, id string, files []jobs.File) error {
	for _, f := range files {
		if err := s.Fits(ctx, int64(len(f))); err != nil {
			return fmt.Errorf("a file of %d bytes: %w", len(f), err)
		}
		sum, offset := f.SHA256(), int64(0)
		for piece := range slices.Chunk(f, MaxAttachmentPiece) {
			if err := s.PutAttachmentPiece(ctx, id, sum, offset, piece); err != nil {
				return err
			}
			offset += int64(len(piece))
		}
	}
	return nil
}

// CheckOptions checks what a submitter chooses beside the kind of the job and its parameters.
func (s Spec) CheckOptions() error {
	return cmp.Or(
		field.Check(s.Priority >= -MaxPriority && s.Priority <= MaxPriority, "Priority", s.Priority, "%d to %d", -MaxPriority, MaxPriority),
		field.Check(s.MaxAttempts >= 1, "MaxAttempts", s.MaxAttempts, "at least 1"),
		field.Check(s.MaxSkipped <= MaxSkipped, "MaxSkipped", s.MaxSkipped, "at most %d", MaxSkipped),
		field.Check(s.Timeout >= 0, "Timeout", s.Timeout, "0 or more"),
		field.Check(s.PartitionTimeout >= 0, "PartitionTimeout", s.PartitionTimeout, "0 or more"),
		field.Check(s.StopAfter >= 0, "StopAfter", s.StopAfter, "0 or more"),
		field.Check(s.Audit <= jobs.MaxAudit, "Audit", s.Audit, "at most %d", jobs.MaxAudit),
		field.Check(s.Keep >= 0, "Keep", s.Keep, "0 or more bytes"),
		field.Check(len(s.After) <= MaxAfter, "After", len(s.After), "at most %d jobs", MaxAfter),
		field.Check(s.Name == "" || nameForm.MatchString(s.Name), "Name", s.Name[:min(len(s.Name), 150)], wantName),
		s.checkLabels(),
	)
}

// nameForm is the form of the names of jobs, and of the names and values of labels.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,99}$`)

const wantName = "up to 100 letters, digits and ._:/@+-, beginning with a letter or digit"

func (s Spec) checkLabels() error {
	if len(s.Labels) > MaxLabels {
		return field.Check(false, "Labels", nil, "at most %d, got %d", MaxLabels, len(s.Labels))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		for _, text := range []string{name, s.Labels[name]} {
			if !nameForm.MatchString(text) {
				return field.Check(false, "Labels", text[:min(len(text), 150)], "names and values of "+wantName)
			}
		}
	}
	return nil
}

// check checks a spec before each write and after each read, because other programs can write to storage too.
func (s Spec) check() error {
	return cmp.Or(
		field.Check(ValidID(s.ID), "ID", s.ID[:min(len(s.ID), 50)], "an ID made by NewID"),
		s.CheckOptions(),
		field.Check(!slices.ContainsFunc(s.After, func(id string) bool { return !ValidID(id) || id == s.ID }), "After", s.After, "IDs of other jobs"),
		field.Check(s.Retries == "" || ValidID(s.Retries) && s.Retries != s.ID, "Retries", s.Retries[:min(len(s.Retries), 50)], "the ID of another job"),
		field.Check(s.From == "" || s.Rounds > 0 && ValidID(s.From) && s.From != s.ID, "From", s.From[:min(len(s.From), 50)], "the ID of another job, for a job with rounds"),
		field.Check(len(s.Params) <= MaxParams, "Params", nil, "at most %d bytes, got %d", MaxParams, len(s.Params)),
		field.Check(bytes.HasPrefix(s.Params, []byte("{")) && json.Valid(s.Params), "Params", string(s.Params[:min(len(s.Params), 50)]), "a JSON object"),
		engine.CheckKind(s.Job, s.Version),
	)
}

// Receive waits for a submission until ctx is done. The job may have begun or ended already. Receive moves two
// kinds of messages to the poison list: messages that are not submissions, and submissions that were delivered
// more than [MaxDeliveries] times before a leader wrote a manifest.
func (s *Store) Receive(ctx context.Context) (*Submission, error) {
	for {
		message, err := s.queue.Receive(ctx)
		if err != nil {
			return nil, fmt.Errorf("receive submission: %w", err)
		}
		submission, reason, err := s.judge(ctx, message)
		if err != nil {
			return nil, err
		}
		if reason == "" {
			return submission, nil
		}
		if err := s.poison(ctx, submission.ID, message, reason); err != nil {
			return nil, err
		}
	}
}

// judge returns why a message must be moved to the poison list, or "" for a valid submission.
func (s *Store) judge(ctx context.Context, message Message) (submission *Submission, reason string, err error) {
	submission = &Submission{Deliveries: message.Deliveries(), message: message}
	record, err := decodeSubmission(message.Body())
	if err != nil {
		return submission, fmt.Sprintf("not a submission: %v", err), nil
	}
	submission.ID, submission.Spec = record.ID, record.Spec
	if submission.Deliveries <= MaxDeliveries {
		return submission, "", nil
	}
	_, _, begun := s.Manifest(ctx, submission.ID)
	spec, known := s.Spec(ctx, submission.ID)
	for _, err := range []error{begun, known} {
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrCorrupt) {
			return nil, "", err
		}
	}
	if removed := errors.Is(known, ErrNotFound) || known == nil && !submission.IsOf(spec); errors.Is(begun, ErrNotFound) && !removed {
		return submission, fmt.Sprintf("delivered %d times and never begun", submission.Deliveries), nil
	}
	return submission, "", nil // the job may have been removed, which the leader handles
}

// Poisoned is a message that was moved from the queue to the poison list.
type Poisoned struct {
	Name       string    `cbor:"-" json:"name"`                    // name of the entry in the poison list
	Reason     string    `cbor:"1,keyasint" json:"reason"`         // reason why the message was moved
	Job        string    `cbor:"2,keyasint,omitempty" json:"job"`  // ID of the job; empty if the message was not a submission
	Deliveries int       `cbor:"3,keyasint" json:"deliveries"`     // number of deliveries before the message was moved
	Body       []byte    `cbor:"4,keyasint,omitempty" json:"body"` // body of the message
	At         time.Time `cbor:"5,keyasint,omitempty" json:"at"`   // time at which the message was moved
}

// Poison moves a submission from the queue to the poison list.
func (s *Store) Poison(ctx context.Context, submission *Submission, reason string) error {
	return s.poison(ctx, submission.ID, submission.message, reason)
}

// unknown begins the name of a poisoned message that was not a submission.
const unknown = "unknown-"

var unknownForm = regexp.MustCompile("^" + unknown + "[0-9a-f]{16}$")

// poison writes the entry of the poison list before it deletes the message from the
// queue. If the delete fails, the message is delivered again, and the entry is
// replaced.
func (s *Store) poison(ctx context.Context, id string, message Message, reason string) error {
	body := message.Body()
	name := id
	if name == "" {
		name = unknown + digest(body)[:16]
	}
	key := poisons + name
	record := encodePoisoned(Poisoned{
		Reason: reason, Job: id, Deliveries: message.Deliveries(), Body: body, At: time.Now(),
	})
	if _, err := s.blobs.Put(ctx, key, record, Always); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if err := message.Delete(ctx); err != nil {
		return fmt.Errorf("delete poisoned submission %s: %w", name, err)
	}
	s.log.Warn("Submission moved to the poison list", "name", name, "reason", reason)
	return nil
}

// PoisonList returns the entries of the poison list, sorted by name. Damaged entries are
// logged and omitted.
func (s *Store) PoisonList(ctx context.Context) ([]Poisoned, error) {
	list, _, err := s.PoisonPage(ctx, "", math.MaxInt)
	return list, err
}

// PoisonPage returns a part of the poison list: up to limit entries whose names are above after.
// The result More is the number of entries after the returned entries.
func (s *Store) PoisonPage(ctx context.Context, after string, limit int) (entries []Poisoned, more int, err error) {
	keys, err := s.list(ctx, poisons)
	if err != nil {
		return nil, 0, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= poisons+after })
	more = max(0, len(keys)-limit)
	list, err := readKeys(ctx, s, keys[:len(keys)-more], decodePoisoned)
	entries = make([]Poisoned, 0, len(list))
	for _, e := range list {
		e.value.Name = e.key[len(poisons):]
		entries = append(entries, e.value)
	}
	return entries, more, err
}

// Requeue moves a message from the poison list back to the queue. The count of the message's
// deliveries begins at 1 again.
func (s *Store) Requeue(ctx context.Context, name string) error {
	key := poisons + name
	if !ValidKey(key) {
		return fmt.Errorf("requeue %q: %w", name, ErrNotFound)
	}
	data, version, err := s.blobs.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	entry, err := decodePoisoned(data)
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	if err := s.queue.Send(ctx, entry.Body); err != nil {
		return fmt.Errorf("send %s to the queue: %w", key, err)
	}
	// A leader may already have received the message again, and moved it to the poison list again.
	if err := s.blobs.DeleteVersion(ctx, key, version); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}
