package machine

// Input is an event for the machine: Tick, Stop, an [Answer], an [Event] received from peers, or a Beat,
// Deposed or Returned of the leading function.
type Input interface{ input() }

// Tick means that time has passed. [Machine.Due] returns when the machine needs a Tick.
type Tick struct{}

// Stop tells the machine that its process must stop. The machine returns Done when the process
// neither leads nor holds a lease.
type Stop struct{}

// Answer is the outcome of a [Question]. The machine ignores a repeated answer, and any answer
// except that to the last question.
type Answer struct {
	To     uint64 // number of the question
	Record Record // record that Read or Acquire returned
	Err    error  // error as documented at election.Lease and election.Peers
}

// Beat means that the leading loop has called election.Term.Beat since the action AwaitBeat.
// The machine ignores a Beat that it has not requested.
type Beat struct{}

// Deposed means that the leading function's context has ended although the machine did not end it.
// The leading function saw a higher epoch, or the context noticed the deadline before the machine
// did.
type Deposed struct{ Cause error } // the cause wraps ErrDeposed

// Returned means that the leading function has returned.
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
