package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/cmd/cli/flock"
)

// told is what a candidate tells.
type told struct {
	Stands bool `json:"stands"` // it is one of those that may lead
	Leads  bool `json:"leads"`  // it has acted as the leader
}

// party is candidates that are processes of this program.
type party struct {
	members []*member
	close   func() error // what they stand on

	mu      sync.Mutex
	leader  int       // the member that acted last; -1: none yet
	acted   time.Time // when that was heard
	err     error     // the first thing that failed
	changed chan struct{}
}

// member is one candidate, in however many processes one after another.
type member struct {
	group   *processes.Group
	process *flock.Process
	stands  bool
}

// patience bounds how long an election may take.
const patience = time.Minute

// startParty starts a candidate for each config. What they stand on is closed after
// them, also if it fails.
func startParty(ctx context.Context, role string, configs []any, under func() error) (_ cluster, err error) {
	p := &party{close: under, leader: -1, changed: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	for i, config := range configs {
		m := &member{}
		p.members = append(p.members, m)
		m.group, err = processes.Start(processes.Config{
			Role: role, Config: config,
			Heard: func(_ string, line []byte) { p.heard(i, line) },
			Ended: p.failed,
		}, 0)
		if err != nil {
			return nil, err
		}
		if m.process, err = m.group.Add(); err != nil {
			return nil, err
		}
	}
	if err := p.await(ctx, "one leads and all stand", p.complete); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *party) heard(i int, line []byte) {
	now := time.Now()
	var t told
	if err := json.Unmarshal(line, &t); err != nil {
		p.failed(fmt.Errorf("read what candidate %d tells: %w", i, err))
		return
	}
	p.mu.Lock()
	if t.Stands {
		p.members[i].stands = true
	}
	if t.Leads {
		p.leader, p.acted = i, now
	}
	p.mu.Unlock()
	p.notify()
}

func (p *party) failed(err error) {
	p.mu.Lock()
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	p.notify()
}

func (p *party) notify() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// complete reports whether one leads and all stand. It is called with the lock held.
func (p *party) complete() bool {
	for _, m := range p.members {
		if !m.stands {
			return false
		}
	}
	return p.leader >= 0
}

// await waits until holds, which is called with the lock held, says yes.
func (p *party) await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		p.mu.Lock()
		err, held := p.err, holds()
		p.mu.Unlock()
		if err != nil || held {
			return err
		}
		select {
		case <-p.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, ctx.Err())
		}
	}
}

func (p *party) kill(ctx context.Context) (time.Duration, error) {
	p.mu.Lock()
	victim := p.leader
	m := p.members[victim]
	m.stands = false
	killed := time.Now()
	p.mu.Unlock()
	m.group.Kill(m.process)
	err := p.await(ctx, "another leads", func() bool { return p.leader != victim })
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acted.Sub(killed), nil
}

func (p *party) restore(ctx context.Context) (err error) {
	for _, m := range p.members {
		select {
		case <-m.process.Ended():
		default:
			continue
		}
		if m.process, err = m.group.Add(); err != nil {
			return err
		}
	}
	return p.await(ctx, "all stand again", p.complete)
}

func (p *party) stop() error {
	for _, m := range p.members {
		if m.group != nil {
			m.group.Stop()
		}
	}
	if p.close == nil {
		return nil
	}
	return p.close()
}
