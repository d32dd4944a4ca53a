package election

// Input is something that happened: Tick, Stop, an [Answer], an [Event] received
// from peers, or a Beat, Deposed or Returned of the leading function.
type Input interface{ input() }

// Tick says that time has passed. [Machine.Due] says when the machine needs a Tick.
type Tick struct{}

// Stop tells the process to stop. The action Done follows once this process
// neither leads nor holds a lease.
type Stop struct{}

// Answer is the outcome of a [Question]. An answer to any question but the last
// one, and a repeated answer, are ignored.
type Answer struct {
	To     uint64 // the question's number
	Record Record // the result of Read or Acquire
	Err    error  // as documented at Lease and Peers
}

// Beat says that the leading loop has called [Term.Beat] since the action AwaitBeat. A
// Beat that the machine does not await is ignored.
type Beat struct{}

// Deposed says that the leading function's context has ended although the machine
// did not end the context: the function saw a higher epoch, or the context noticed
// the deadline before the machine did.
type Deposed struct{ Cause error } // wraps ErrDeposed

// Returned says that the leading function has returned.
type Returned struct {
	Successor string
	Err       error
}

func (Tick) input()     {}
func (Stop) input()     {}
func (Answer) input()   {}
func (Beat) input()     {}
func (Deposed) input()  {}
func (Returned) input() {}
