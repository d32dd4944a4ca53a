//go:build !unix

package azurite

import "context"

// lock does nothing on systems without file locks. If two processes install Azurite at the same
// time, both run npm, and the directory that is renamed first is used.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
