package client

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Poisoned is a message that was moved from the submission queue to the poison list. A leader moves
// a message that is not a valid submission. A leader also moves a message if several leaders died
// while they began the message's job.
type Poisoned = store.Poisoned

// Poisoned returns the poison list, sorted by name.
func (c *Client) Poisoned(ctx context.Context) ([]Poisoned, error) {
	list, _, err := c.PoisonedAfter(ctx, "", math.MaxInt)
	return list, err
}

// PoisonedAfter returns up to limit entries of the poison list whose names are above after, sorted by name, and
// the number of further entries.
func (c *Client) PoisonedAfter(ctx context.Context, after string, limit int) (list []Poisoned, more int, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	list, more, err = s.PoisonPage(ctx, after, limit)
	if err != nil {
		return nil, 0, c.explain(fmt.Errorf("read the poison list: %w", err))
	}
	return list, more, nil
}

// Requeue moves a message from the poison list back to the submission queue and resets
// the message's delivery count.
func (c *Client) Requeue(ctx context.Context, name string) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	err = s.Requeue(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return errorf(ErrNotFound, "the poison list has no entry %s", name)
	}
	return c.explain(err)
}
