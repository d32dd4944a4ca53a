//go:build !unix

package local

import (
	"context"
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// Replace implements source.Replacer.
func (d Driver) Replace(_ context.Context, o source.Object, _ []byte) (source.Object, error) {
	return source.Object{}, fmt.Errorf("replace %s: %w on this system: want Linux, macOS or another Unix", o.Name, source.ErrUnsupported)
}
