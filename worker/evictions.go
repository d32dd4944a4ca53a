package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/bellwether-compute/bellwether/worker/internal/imds"
)

const (
	evictionPoll      = time.Second // Azure announces the eviction of a spot machine 30 s in advance
	evictionPollMax   = time.Minute // interval between requests if the metadata service does not answer, for example outside Azure
	evictionFirstCall = 150 * time.Second
	evictionCall      = 5 * time.Second
)

// awaitEviction waits until Azure announces an event that ends this machine, or until ctx is done.
// If the metadata service does not answer, awaitEviction logs one line and sends requests less
// often.
func awaitEviction(ctx context.Context, service *imds.Client, log *slog.Logger) (event imds.Event, evicted bool) {
	machine := ""
	poll := func() (event imds.Event, evicted bool, err error) {
		timeout := evictionCall
		if machine == "" {
			timeout = evictionFirstCall // the first request may enable the metadata service, which can take two minutes
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
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
			if e.EndsMachine() && e.Affects(machine) {
				return e, true, nil
			}
		}
		return event, false, nil
	}
	failing := false
	for pause := evictionPoll; ; {
		event, evicted, err := poll()
		switch {
		case ctx.Err() != nil:
			return event, false
		case evicted:
			return event, true
		case err != nil:
			if !failing {
				log.Warn("Cannot watch for evictions, retrying: is this machine on Azure?", "error", err)
			}
			failing, pause = true, min(2*pause, evictionPollMax)
		default:
			if failing {
				log.Info("Watching for evictions again", "machine", machine)
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

// approveEviction tells Azure that it may evict the machine now.
func approveEviction(service *imds.Client, event imds.Event, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), evictionCall)
	defer cancel()
	if err := service.Approve(ctx, event); err != nil {
		log.Warn("Could not approve the eviction early; Azure will proceed on schedule", "error", err)
	}
}
