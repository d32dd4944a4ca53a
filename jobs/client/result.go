package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Outcome contains the final status and the result of a job.
type Outcome struct {
	Status
	Result json.RawMessage // result of the job; nil unless the job completed
}

// Outcome returns how a job ended, with its result if it completed. Outcome fails with
// [ErrNotEnded] if the job has not ended, and with [ErrDamaged] if the SHA-256 of the stored result
// differs from the one in the checkpoint.
func (c *Client) Outcome(ctx context.Context, id string) (Outcome, error) {
	s, err := c.open(ctx)
	if err != nil {
		return Outcome{}, err
	}
	r, err := c.record(ctx, s, id)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Status: newStatus(r, nil)}
	switch {
	case !o.State.Final():
		return o, o.Err()
	case o.State != Completed:
		return o, nil
	}
	result, err := s.Result(ctx, id, o.SHA256)
	if err != nil {
		return o, c.explain(fmt.Errorf("read the result of job %s: %w", id, err))
	}
	if got := Fingerprint(result); got != o.SHA256 {
		return o, errorf(ErrDamaged, "the stored result of job %s is damaged: its SHA-256 is %s, the checkpoint says %s", id, got, o.SHA256)
	}
	o.Result = result
	return o, nil
}

// Fingerprint returns the SHA-256 of a result, in hexadecimal.
func Fingerprint(result []byte) string {
	hash := sha256.Sum256(result)
	return hex.EncodeToString(hash[:])
}

// Result returns the result of a job that has completed, decoded into the result type of its
// definition. Result fails with [ErrNotEnded], [ErrFailed] or [ErrCancelled] if the job has no
// result. [Client.Wait] waits until a job has ended.
func Result[R any](ctx context.Context, c *Client, id string) (result R, err error) {
	o, err := c.Outcome(ctx, id)
	if err != nil {
		return result, err
	}
	if err := o.Err(); err != nil {
		return result, err
	}
	if err := json.Unmarshal(o.Result, &result); err != nil {
		return result, fmt.Errorf("decode the result of job %s: %w", id, err)
	}
	return result, nil
}
