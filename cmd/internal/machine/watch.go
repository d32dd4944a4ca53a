package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/dustin/go-humanize"
)

// ErrMemory is the cause of a context that LimitMemory has ended.
var ErrMemory = errors.New("the job needs more memory than --memory allows")

// memoryPause is the time between two looks at the memory in use. A job allocates at most a few hundred
// megabytes in this time.
const memoryPause = 50 * time.Millisecond

// LimitMemory sets the memory limit of the Go runtime, and ends the returned context if the process
// nevertheless uses an eighth more than the limit. The returned function ends the watch.
func LimitMemory(ctx context.Context, limit int64) (context.Context, func()) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(memoryPause)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if used := memoryInUse(); used > limit+limit/8 {
				cancel(fmt.Errorf("%w: it uses %s, the limit is %s: give more --memory or fewer --slots, or submit the job to workers, which move large partials to disk",
					ErrMemory, humanize.IBytes(uint64(used)), humanize.IBytes(uint64(limit))))
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// memoryInUse returns the number of bytes to which the limit of the Go runtime applies.
func memoryInUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
