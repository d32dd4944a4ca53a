package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
)

// Params describe the behaviour of the partitions. For parameters that are the number of a
// partition, -1 means no partition.
type Params struct {
	Partitions uint64 `json:"partitions" min:"1" max:"4611686018427387904" help:"number of partitions"`

	Spin        time.Duration `json:"spin" min:"0s" max:"1h" help:"how long a partition keeps a core busy, on the clock"`
	Sleep       time.Duration `json:"sleep" min:"0s" max:"1h" help:"how long a partition waits"`
	CostEvery   uint64        `json:"cost-every" help:"if not 0, partitions that are multiples of it take cost-factor times as long"`
	CostFactor  uint64        `json:"cost-factor" min:"1" max:"1e6" help:"see cost-every"`
	PartialSize uint64        `json:"partial-size" max:"1e9" help:"bytes that each partial carries besides, merged or not"`

	Fail      int64  `json:"fail" min:"-1" help:"partition that returns an error"`
	FailEvery uint64 `json:"fail-every" help:"if not 0, partitions that are multiples of it return an error"`
	Permanent int64  `json:"permanent" min:"-1" help:"partition that returns a permanent error"`
	Panic     int64  `json:"panic" min:"-1" help:"partition that panics"`
	Exit      int64  `json:"exit" min:"-1" help:"partition that ends its process"`
	OnceDir   string `json:"once-dir" help:"directory that remembers faults; with it, they happen at the first attempts only"`
	Times     uint64 `json:"times" min:"1" max:"1e6" help:"number of attempts at which a fault happens, with once-dir"`
}

// Validate returns an error for faults at partitions that do not exist.
func (p Params) Validate() error {
	for _, f := range []struct {
		name      string
		partition int64
	}{{"fail", p.Fail}, {"permanent", p.Permanent}, {"panic", p.Panic}, {"exit", p.Exit}} {
		if f.partition >= 0 && uint64(f.partition) >= p.Partitions {
			return fmt.Errorf("parameter %s: got %d, takes -1 or a partition, 0 to %d", f.name, f.partition, p.Partitions-1)
		}
	}
	return nil
}

// Result accounts for the partitions. 64-bit numbers are in hexadecimal, because some
// JSON parsers round large numbers.
type Result struct {
	Partitions uint64 `json:"partitions"`       // number of partitions of the job
	Counted    uint64 `json:"counted"`          // number of partitions in the result; without skipped partitions
	Sum        string `json:"sum"`              // sum of the hashes of the partition numbers, modulo 2^64
	Xor        string `json:"xor"`              // exclusive or of the hashes of the partition numbers
	Size       int    `json:"size"`             // size of the block in bytes
	Block      string `json:"sha256,omitempty"` // SHA-256 of the exclusive or of all blocks
}

// Definition is the definition of the job probe.
var Definition = jobs.Definition[Params, partial, Result]{
	Name:       "probe",
	Version:    "1",
	Summary:    "tries a deployment: spins or sleeps, and fails to order",
	Restricted: true, // because of the parameters exit, once-dir and partial-size
	Defaults: Params{
		Partitions: 1000, CostFactor: 10,
		Fail: -1, Permanent: -1, Panic: -1, Exit: -1, Times: 1,
	},
	Plan: func(_ context.Context, p Params) (jobs.Plan, error) {
		return jobs.Plan{Partitions: p.Partitions}, nil
	},
	Open:  open,
	Merge: merge,
	Finish: func(_ context.Context, p Params, root partial) (Result, error) {
		r := Result{
			Partitions: p.Partitions, Counted: root.Count,
			Sum: fmt.Sprintf("%016x", root.Sum), Xor: fmt.Sprintf("%016x", root.Xor),
			Size: len(root.block()),
		}
		if root.Block != nil {
			sum := sha256.Sum256(root.block())
			r.Block = hex.EncodeToString(sum[:])
		}
		return r, nil
	},
}
