package election

import "github.com/bellwether-compute/bellwether/election/machine"

// Cause is the reason why a term began.
type Cause = machine.Cause

const (
	First    = machine.First    // the lease was never held before
	Free     = machine.Free     // the lease was free when the process read the record
	Expired  = machine.Expired  // the process waited until the lease expired
	Died     = machine.Died     // the previous leader's process had died
	Silent   = machine.Silent   // the previous leader gave no sign of life for too long
	Handover = machine.Handover // the previous leader chose this worker
)
