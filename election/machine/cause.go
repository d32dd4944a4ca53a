package machine

// Cause is the reason why a term began.
type Cause string

const (
	First    Cause = "first"    // the lease was never held before
	Free     Cause = "free"     // the lease was free when the process read the record
	Expired  Cause = "expired"  // the process waited until the lease expired
	Died     Cause = "died"     // the previous leader's process had died
	Silent   Cause = "silent"   // the previous leader gave no sign of life for too long
	Handover Cause = "handover" // the previous leader chose this worker
)

// Crashed reports whether the previous leader ended without releasing the lease: its process died,
// or its lease expired.
func (c Cause) Crashed() bool { return c == Died || c == Expired }

// Causes lists all causes.
var Causes = []Cause{First, Free, Expired, Died, Silent, Handover}
