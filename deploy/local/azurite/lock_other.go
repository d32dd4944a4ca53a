//go:build !unix

package azurite

import "context"

// lock does nothing. If two processes install at once, both do the work, and the first to
// rename its directory wins.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
