package machine

import (
	"context"
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestLimitMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	ctx, stop := LimitMemory(t.Context(), 1<<40)
	stop()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("below the limit: got %v, want no error of memory", err)
	}
	large := make([]byte, 96<<20)
	for i := range large {
		large[i] = 1
	}
	ctx, stop = LimitMemory(t.Context(), 64<<20)
	<-ctx.Done()
	stop()
	if err := context.Cause(ctx); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "the limit is 64 MiB") {
		t.Errorf("above the limit: got %v, want an error of memory", err)
	}
	runtime.KeepAlive(large)
}
