package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/cmd/cli/imds"
)

const (
	evictionPoll      = time.Second // of 30 that a spot machine is given
	evictionPollRare  = time.Minute // where nobody answers, as outside of Azure
	evictionFirstCall = 150 * time.Second
	evictionCall      = 5 * time.Second
)

// awaitEviction waits until Azure is about to take the machine away, or ctx is
// done. Where the service does not answer it says so once, and goes on asking.
func awaitEviction(ctx context.Context, service *imds.Client, log *slog.Logger) (event imds.Event, evicted bool) {
	machine := ""
	look := func() (event imds.Event, evicted bool, err error) {
		within := evictionCall
		if machine == "" {
			within = evictionFirstCall // it may have to be switched on
		}
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		name, err := service.Name(ctx)
		if err != nil {
			return event, false, err
		}
		events, err := service.Events(ctx)
		if err != nil {
			return event, false, err
		}
		if machine == "" {
			log.Info("Watching for evictions", "machine", name)
		}
		machine = name
		for _, e := range events {
			if e.EndsMachine() && e.Concerns(machine) {
				return e, true, nil
			}
		}
		return event, false, nil
	}
	failing := false
	for pause := evictionPoll; ; {
		event, evicted, err := look()
		switch {
		case ctx.Err() != nil:
			return event, false
		case evicted:
			return event, true
		case err != nil:
			if !failing {
				log.Warn("Evictions cannot be watched, is this machine on Azure? Trying again, rarely", "error", err)
			}
			failing, pause = true, min(2*pause, evictionPollRare)
		default:
			if failing {
				log.Info("Evictions are watched again", "machine", machine)
			}
			failing, pause = false, evictionPoll
		}
		select {
		case <-ctx.Done():
			return event, false
		case <-time.After(pause):
		}
	}
}

// approveEviction lets Azure have the machine, which has nothing to lose any more.
func approveEviction(service *imds.Client, event imds.Event, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), evictionCall)
	defer cancel()
	if err := service.Approve(ctx, event); err != nil {
		log.Warn("Could not approve of the eviction, it comes in its own time", "error", err)
	}
}
