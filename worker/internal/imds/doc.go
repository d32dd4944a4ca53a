// Package imds asks Azure's Instance Metadata Service for scheduled events of the virtual machine
// on which this process runs. The service has the same link-local address on every virtual machine.
//
// The service announces an event to all machines of a scale set's placement group. An announced
// event lists the names of the affected machines as its resources:
//
//	Preempt    a spot machine is evicted, at least 30 s after the announcement
//	Terminate  the machine is deleted, if its scale set has termination notices enabled
//	Redeploy   the machine moves to other hardware and loses its memory
//	Reboot     the machine restarts and loses its memory
//	Freeze     the machine pauses for some seconds and loses nothing
//
// The first request of a machine enables the service, which can take two minutes. An event starts
// at its announced time, or as soon as a machine approves the event.
//
// Outside Azure no service, or an unrelated service, answers at the address. On Azure the service
// may be unavailable for some time.
package imds
