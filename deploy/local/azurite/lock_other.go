//go:build !unix

package azurite

import "context"

// lock does nothing. If two processes install Azurite at once, both run npm, and the
// first process to rename its directory wins.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
