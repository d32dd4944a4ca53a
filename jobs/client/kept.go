package client

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// Kept returns the storage of the partials that jobs with SubmitOptions.Keep have kept, for the functions of package
// jobs/store/kept.
func (c *Client) Kept(ctx context.Context) (store.Blobs, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the kept partials: %w", err)
	}
	return s.Blobs(), nil
}
