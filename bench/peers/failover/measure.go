package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/bench/peers/report"
	"github.com/bellwether-compute/bellwether/deploy/local/azurite"
)

// Config is the configuration of [Run].
type Config struct {
	report.Setup
	Systems []System
	Kills   int // number of times that each leader is killed per system and round
}

// Result contains all measurements.
type Result struct {
	Candidates int     `json:"candidates"`
	Systems    []Kills `json:"systems"`
}

// Kills contains the measurements of one system.
type Kills struct {
	Name     string         `json:"name"`
	Versions string         `json:"versions"`
	Settings string         `json:"settings"`
	Millis   report.Figures `json:"ms"` // times from SIGKILL until the next leader acted, in milliseconds
}

// Systems returns all systems, Bellwether first.
func Systems() []System {
	return []System{
		bellwether(onJetStream), bellwether(onAzurite), hashicorpRaft(),
		etcdElection(1), etcdElection(5), leasePattern(),
	}
}

// Roles returns the roles of processes that this package starts.
func Roles() map[string]processes.Role {
	return map[string]processes.Role{
		raftRole: processes.RoleOf(beRaft), etcdServerRole: processes.RoleOf(beEtcdServer),
		etcdRole: processes.RoleOf(beEtcdCandidate), leaseRole: processes.RoleOf(beLeaseCandidate),
	}
}

// Run measures all systems. In each round every system is started, loses its leader several times,
// and is stopped.
func Run(ctx context.Context, cfg Config) (result Result, err error) {
	place := Place{Program: cfg.Program, Kills: cfg.Kills}
	if slices.ContainsFunc(cfg.Systems, func(s System) bool { return s.azurite }) {
		server, startErr := azurite.Start(ctx, azurite.Config{})
		if startErr != nil {
			return result, startErr
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		place.Azure = server.ConnectionString()
	}
	result.Candidates = candidates
	for _, s := range cfg.Systems {
		versions, err := s.Versions(ctx, place)
		if err != nil {
			return result, err
		}
		result.Systems = append(result.Systems, Kills{Name: s.Name, Versions: versions, Settings: s.Settings})
	}
	for round := range cfg.Rounds {
		for i, s := range cfg.Systems {
			place.Dir = filepath.Join(cfg.Dir, fmt.Sprintf("round-%d-%d", round, i))
			took, err := kills(ctx, s, place)
			for _, d := range took {
				result.Systems[i].Millis = append(result.Systems[i].Millis, float64(d.Microseconds())/1000)
			}
			if err != nil {
				return result, fmt.Errorf("%s, round %d: %w", s.Name, round+1, err)
			}
			cfg.Progress("round %d of %d, %s: %v", round+1, cfg.Rounds, s.Name, took)
		}
	}
	return result, nil
}

// atLeast is the minimum time that a leader leads before it is killed.
const atLeast = time.Second

func kills(ctx context.Context, s System, p Place) (took []time.Duration, err error) {
	if err := os.Mkdir(p.Dir, 0o755); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.Dir)) }()
	c, err := s.start(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	for range p.Kills {
		select {
		case <-time.After(atLeast + rand.N(s.Period)):
		case <-ctx.Done():
			return took, ctx.Err()
		}
		d, err := c.kill(ctx)
		if err != nil {
			return took, err
		}
		took = append(took, d.Round(100*time.Microsecond))
		if err := c.restore(ctx); err != nil {
			return took, err
		}
	}
	return took, nil
}
