package throughput

import (
	"context"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/fleet"
	"github.com/bellwether-compute/bellwether/bench/peers/servers"
	"github.com/bellwether-compute/bellwether/bench/peers/work"
)

// Bellwether is the name of the system with which the others are compared.
const Bellwether = "Bellwether"

func bellwether() System {
	return System{
		Name: Bellwether,
		Versions: func(ctx context.Context, p Place) (string, error) {
			version, err := fleet.Version(ctx, p.Program)
			return version + ", " + servers.NATSVersion, err
		},
		Durability: "submission, checkpoints and merged result synced to disk before they are acknowledged",
		Settings:   settings(0),
		open: func(ctx context.Context, p Place, w work.Work, s Setting) (session, error) {
			f, err := fleet.Start(ctx, fleet.Config{
				Program: p.Program, Dir: p.Dir, Workers: p.Processes, Slots: p.Slots, Env: s.env(),
			})
			if err != nil {
				return nil, err
			}
			return fleetSession{f, w}, nil
		},
	}
}

type fleetSession struct {
	*fleet.Fleet
	work work.Work
}

func (s fleetSession) run(ctx context.Context, n uint64) (time.Duration, work.Sum, error) {
	job, params := s.work.Job(n)
	o, err := s.Run(ctx, job, params...)
	if err != nil {
		return 0, work.Sum{}, err
	}
	if o.Repeated > 0 {
		return 0, work.Sum{}, fmt.Errorf("%d partitions were run twice", o.Repeated)
	}
	sum, err := s.work.Result(n, o.Result)
	return o.Finished.Sub(o.Submitted), sum, err
}

func (s fleetSession) close() error {
	s.Stop()
	return nil
}
