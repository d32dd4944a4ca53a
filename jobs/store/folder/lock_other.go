//go:build !unix

package folder

import (
	"context"
	"errors"
	"fmt"
)

func (b *Blobs) lock(context.Context) (unlock func(), err error) {
	return nil, fmt.Errorf("lock folder %s: %w on this system: want Linux, macOS or another Unix", b.dir, errors.ErrUnsupported)
}
