package bench

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// ProcessUse contains the resources that one process used while a job ran.
type ProcessUse struct {
	Role     string `json:"role"`
	Resident uint64 `json:"resident_bytes"` // the largest resident memory of all samples
	Moved    uint64 `json:"moved_bytes"`    // number of bytes that the process read and wrote, in sockets and files together
}

// These constants are the roles of processes in a benchmark. The leader's process is also a worker.
// The process with the role nats is the benchmark's process, which runs the NATS server and
// JetStream storage.
const (
	roleLeader = "leader"
	roleWorker = "worker"
	roleNATS   = "nats"
)

type observer struct {
	uses  []ProcessUse
	pids  []int
	begun []uint64 // bytes that each process had moved before the observation began
	end   context.CancelFunc
	ended chan struct{}
}

func observe(roles map[int]string) (*observer, error) {
	o := &observer{pids: slices.Sorted(maps.Keys(roles)), ended: make(chan struct{})}
	for _, pid := range o.pids {
		moved, err := movedBytes(pid)
		if err != nil {
			return nil, err
		}
		o.uses, o.begun = append(o.uses, ProcessUse{Role: roles[pid]}), append(o.begun, moved)
	}
	var ctx context.Context
	ctx, o.end = context.WithCancel(context.Background())
	go func() {
		defer close(o.ended)
		for o.sample(); wait(ctx, look) == nil; {
			o.sample()
		}
	}()
	return o, nil
}

// sample measures the memory of each process. sample skips processes that have ended.
func (o *observer) sample() {
	for i, pid := range o.pids {
		if bytes, err := residentBytes(pid); err == nil {
			o.uses[i].Resident = max(o.uses[i].Resident, bytes)
		}
	}
}

// stop ends the observation. The bytes moved by a killed process are unknown and count as 0.
func (o *observer) stop() error {
	o.end()
	<-o.ended
	for i, pid := range o.pids {
		moved, err := movedBytes(pid)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			o.uses[i].Moved = moved - o.begun[i]
		}
	}
	return nil
}
