package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/bench/peers/processes"
	"github.com/bellwether-compute/bellwether/deploy/local/procs"
)

type told struct {
	Stands bool `json:"stands"` // true if the candidate is ready to lead
	Leads  bool `json:"leads"`  // true if the candidate has acted as the leader
}

// party is a cluster whose candidates are processes of this program.
type party struct {
	*processes.Watch
	members []*member
	close   func() error // function that closes the server of the candidates

	leader int       // index of the member that acted last; -1 if no member has acted
	acted  time.Time // arrival time of the message about the last act
}

// member is one candidate, with one process at a time.
type member struct {
	group   *processes.Group
	process *procs.Process
	stands  bool
}

// startParty starts a candidate for each config. The function under closes the server that the
// candidates use. After the candidates have ended, under is called, even if startParty fails.
func startParty(ctx context.Context, role string, configs []any, under func() error) (_ cluster, err error) {
	p := &party{Watch: processes.NewWatch(), close: under, leader: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.stop())
		}
	}()
	for range configs {
		p.members = append(p.members, &member{})
	}
	for i, config := range configs {
		m := p.members[i]
		m.group, err = processes.Start(processes.Config{
			Role: role, Config: config,
			Heard: func(_ string, line []byte) { p.heard(i, line) },
			Ended: p.Fail,
		}, 0)
		if err != nil {
			return nil, err
		}
		if m.process, err = m.group.Add(); err != nil {
			return nil, err
		}
	}
	if err := p.Await(ctx, "one leads and all stand", p.complete); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *party) heard(i int, line []byte) {
	now := time.Now()
	var t told
	if err := json.Unmarshal(line, &t); err != nil {
		p.Fail(fmt.Errorf("read what candidate %d tells: %w", i, err))
		return
	}
	p.Change(func() {
		if t.Stands {
			p.members[i].stands = true
		}
		if t.Leads {
			p.leader, p.acted = i, now
		}
	})
}

// complete reports whether one candidate leads and all candidates are ready. complete must be
// called with exclusive access to the state, from a function passed to Change or Await.
func (p *party) complete() bool {
	for _, m := range p.members {
		if !m.stands {
			return false
		}
	}
	return p.leader >= 0
}

func (p *party) kill(ctx context.Context) (took time.Duration, err error) {
	var victim int
	var killed time.Time
	p.Change(func() {
		victim = p.leader
		p.members[victim].stands = false
		killed = time.Now()
	})
	m := p.members[victim]
	m.group.Kill(m.process)
	err = p.Await(ctx, "another leads", func() bool {
		took = p.acted.Sub(killed)
		return p.leader != victim
	})
	return took, err
}

func (p *party) restore(ctx context.Context) (err error) {
	for _, m := range p.members {
		select {
		case <-m.process.Done():
		default:
			continue
		}
		if m.process, err = m.group.Add(); err != nil {
			return err
		}
	}
	return p.Await(ctx, "all stand again", p.complete)
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
