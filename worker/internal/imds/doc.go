// Package imds asks Azure's Instance Metadata Service which events are about to
// happen to the virtual machine that this process runs on. Every virtual machine
// reaches the service at the same link-local address.
//
// The service announces events to all machines of a scale set's placement group. An
// event that affects this machine lists the machine's name among its resources:
//
//	Preempt    a spot machine is evicted, at least 30 s after the announcement
//	Terminate  the machine is deleted, if its scale set has termination notices enabled
//	Redeploy   the machine moves to other hardware and loses its memory
//	Reboot     the machine restarts and loses its memory
//	Freeze     the machine pauses for some seconds and loses nothing
//
// The first request that a machine sends enables the service, which can take two minutes.
// An event starts at its announced time, or as soon as a machine approves the event.
//
// What can fail: outside Azure no service, or an unrelated service, answers at the address. On
// Azure the service may be unavailable for some time.
package imds
