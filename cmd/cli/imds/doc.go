// Package imds asks Azure's Instance Metadata Service what is about to happen to
// the virtual machine that this process runs on. The service answers on an address
// that every such machine has and that leads nowhere else.
//
// Events are told to all machines of a scale set's placement group; those that
// concern this one have its name among their resources:
//
//	Preempt    a spot machine is taken away, after at least 30 s
//	Terminate  the machine is deleted, where the scale set is to tell beforehand
//	Redeploy   it is moved to other hardware; what is in memory is lost
//	Reboot     it is started anew; what is in memory is lost
//	Freeze     it stands still for some seconds; nothing is lost
//
// The first request of a machine switches the service on, which may take two
// minutes. An event starts when its time has come, or as soon as it is approved of.
//
// What can fail: outside of Azure nobody answers, or somebody else does. On Azure
// the service may be away for a while.
package imds
