package election

// Input is something that happened: Tick, Stop, an [Answer], one of the leading
// function's Beat, Deposed and Returned, or an [Event] heard from peers. Every
// kind but the events is in this file.
type Input interface{ input() }

// Tick: time passed. One is wanted when [Machine.Due] says.
type Tick struct{}

// Stop: the process shall stop. Done follows, once this process does not lead
// and holds no lease.
type Stop struct{}

// Answer: what an action asked for was done, or was not, or nobody knows. One
// that is of no interest any more, and one that comes again, changes nothing.
type Answer struct {
	To     uint64 // the question's number
	Record Record // of Read and Acquire
	Err    error  // as Lease and Peers say
}

// Beat: the leading loop turned since AwaitBeat. Others are ignored.
type Beat struct{}

// Deposed: the leading function's context has ended by itself. The function saw
// a higher epoch, or the context looked at the clock first.
type Deposed struct{ Cause error } // wraps ErrDeposed

// Returned: the leading function returned.
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
