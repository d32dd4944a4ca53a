package sim

import (
	"time"

	"github.com/bellwether-compute/bellwether/election"
)

// leaseState is the lease's record as storage has it.
type leaseState struct {
	record  election.Record
	expires time.Duration
}

// current is the record as it is now.
func (st *storage) current() election.Record {
	r := st.lease.record
	r.Held = r.Held && st.sim.now < st.lease.expires
	return r
}

func (st *storage) acquire(claim election.Claim) (election.Record, error) {
	now := st.current()
	switch {
	case now.Held && now.LeaseID == claim.LeaseID: // the same attempt again
	case !now.Held || now.LeaseID == claim.Replaces:
		if now.Held {
			st.sim.checks.changed(now.Epoch)
		}
		st.lease.record = election.Record{Epoch: now.Epoch + 1, Holder: claim.Holder, LeaseID: claim.LeaseID, Held: true}
	default:
		return election.Record{}, election.ErrHeld
	}
	st.lease.expires = st.sim.now + st.sim.scenario.lease
	st.sim.checks.acquired(st.lease.record, st.lease.expires)
	return st.lease.record, nil
}

func (st *storage) renew(held election.Record) error {
	if !st.heldAs(held) {
		return election.ErrLost
	}
	st.lease.expires = st.sim.now + st.sim.scenario.lease
	st.sim.checks.acquired(st.lease.record, st.lease.expires)
	return nil
}

func (st *storage) release(held election.Record) error {
	if !st.heldAs(held) {
		return election.ErrLost
	}
	st.lease.record.Held = false
	return nil
}

func (st *storage) transfer(held election.Record, leaseID string) error {
	if !st.heldAs(held) {
		return election.ErrLost
	}
	st.lease.record.LeaseID = leaseID
	return nil
}

func (st *storage) heldAs(held election.Record) bool {
	r := st.lease.record
	return r.Held && r.Epoch == held.Epoch && r.LeaseID == held.LeaseID
}
