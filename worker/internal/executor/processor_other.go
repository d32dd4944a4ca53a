//go:build !unix

package executor

import "time"

// processorTime returns 0, because this system's way to measure it is not used.
func processorTime() time.Duration { return 0 }
