package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is ctx until the first SIGINT or SIGTERM. A second one ends the
// process, as it would without this.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
