//go:build unix

package chaos

import (
	"net/http"
	"time"

	"github.com/bellwether-compute/bellwether/deploy/local/faults"
)

// scope is the part of the cluster that a fault affects. At most one fault is active on a target.
type scope int

const (
	fleet    scope = iota // scope of faults that affect all worker processes
	process               // scope of faults that affect the process of a node
	links                 // scope of faults that affect the links of a node to NATS and storage
	packets               // scope of faults that affect the packets of a node in its network namespace
	natsNode              // scope of faults that affect the NATS server
	storage               // scope of faults that affect the storage account
	requests              // scope of faults that affect requests to the storage account
	joining               // scope of the fault that another node joins the cluster
	leaving               // scope of the fault that a node leaves the cluster
)

// fault describes one kind of fault.
type fault struct {
	name        string
	on          scope
	least, most time.Duration // minimum and maximum of the fault's duration

	// begin injects the fault and returns a function that ends the fault, or nil if the fault
	// could not be injected. The node is nil if the scope does not belong to a node.
	begin func(*cluster, *node) (end func())
}

func catalog(on Storage) []fault {
	const ms, s = time.Millisecond, time.Second
	lease := on.lease()
	list := []fault{
		{"SIGKILL", process, 0, 2 * s, kill},
		{"SIGKILL to all", fleet, 0, 3 * s, killAll},
		{"SIGTERM", process, 0, 2 * s, terminate},
		{"SIGSTOP for a moment", process, 100 * ms, 1500 * ms, freeze},
		{"SIGSTOP beyond the lease", process, lease + lease/10, lease + lease/2, freeze},
		{"step-down", fleet, 0, 0, stepDown},
		{"join", joining, 0, 0, join},
		{"leave", leaving, 0, 0, leave},

		{"SIGKILL to NATS", natsNode, 0, 200 * ms, killNATS},
		{"NATS away", natsNode, 1 * s, 6 * s, stopNATS},
		{"NATS stopped", natsNode, 500 * ms, 5 * s, freezeNATS},

		{"slow links", links, 1 * s, 5 * s, slowLinks},
		{"NATS link stalled", links, 500 * ms, 8 * s, onNATSLink((*faults.TCPProxy).Stall)},
		{"NATS link reset", links, 0, 0, onNATSLink((*faults.TCPProxy).Reset)},

		{"packets lost", packets, 2 * s, 6 * s, dropPackets("numgen random mod 100 < 25")},
		{"no packets get out", packets, 1 * s, 6 * s, dropPackets("tcp dport @links")},
		{"no packets get in", packets, 1 * s, 6 * s, dropPackets("tcp sport @links")},
		{"no packets at all", packets, 1 * s, 6 * s, dropPackets("")},
	}
	switch on {
	case JetStream:
		return list
	case Damaged:
		return append(list, damages()...)
	}
	return append(list,
		fault{"Azurite restarted", storage, 0, 200 * ms, stopAzurite},
		fault{"Azurite away", storage, 1 * s, lease + lease/4, stopAzurite},
		fault{"storage links stalled", links, 500 * ms, 8 * s, onStorageLinks((*faults.TCPProxy).Stall)},
		fault{"storage links reset", links, 0, 0, onStorageLinks((*faults.TCPProxy).Reset)},

		fault{"requests slow", requests, 2 * s, 6 * s, onRequests(faults.Fault{Delay: 2 * s})},
		fault{"requests reset", requests, 2 * s, 6 * s, onRequests(faults.Fault{Reset: true})},
		fault{"answers lost", requests, 2 * s, 6 * s, onRequests(faults.Fault{LoseAnswer: true})},
		fault{"answers cut", requests, 2 * s, 6 * s, onRequests(faults.Fault{CutAnswer: true})},
		fault{"status 500", requests, 2 * s, 6 * s, onRequests(faults.Fault{Status: http.StatusInternalServerError, Code: "InternalError"})},
		fault{"status 503", requests, 2 * s, 6 * s, onRequests(faults.Fault{Status: http.StatusServiceUnavailable, Code: "ServerBusy", RetryAfter: 1})},
		fault{"status 429", requests, 2 * s, 6 * s, onRequests(faults.Fault{Status: http.StatusTooManyRequests, Code: "TooManyRequests", RetryAfter: 1})},
	)
}
