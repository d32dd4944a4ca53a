//go:build !unix

package azurite

import "context"

// lock does nothing. If two processes install Azurite at once, both run npm, and the directory of
// the process that renames it first is used.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
