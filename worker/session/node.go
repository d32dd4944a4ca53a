package session

import (
	"cmp"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

// heldNode is a node whose large partial the caller of the session keeps.
type heldNode struct {
	wire.HeldNode
	storing bool   // true while the caller writes the partial to storage
	stored  uint64 // number of the item with the blob's name; 0 if the partial is not in storage
}

func compareNodes(a, b engine.Node) int {
	return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Index, b.Index))
}

// findNode returns the index of a held node in j.nodes.
func (j *job) findNode(n engine.Node) (int, bool) {
	return slices.BinarySearchFunc(j.nodes, n, func(h *heldNode, n engine.Node) int { return compareNodes(h.Node, n) })
}

// holdNode adds a node to the held nodes of a job.
func (s *Session) holdNode(j *job, n wire.HeldNode) {
	n.Job = j.id
	j.large = true
	at, found := j.findNode(n.Node)
	switch {
	case !found:
		j.nodes = slices.Insert(j.nodes, at, &heldNode{HeldNode: n})
		s.work.nodes++
	case j.nodes[at].HeldNode != n: // the partials lack different skipped partitions, so a blob of the old one is not the new one's
		j.nodes[at] = &heldNode{HeldNode: n}
	}
}

// dropNode removes a held node, and tells the caller to drop the partial.
func (s *Session) dropNode(j *job, n engine.Node) {
	if s.forgetNode(j, n) {
		s.do(DropNode{j.id, n})
	}
}

func (s *Session) forgetNode(j *job, n engine.Node) bool {
	at, found := j.findNode(n)
	if found {
		j.nodes = slices.Delete(j.nodes, at, at+1)
		s.work.nodes--
	}
	return found
}

// MayHold reports whether the next large partial may be delivered as a held node, in addition to
// undelivered partials for which MayHold has returned true. It returns false if the leader does not
// support held nodes, or if the worker already holds the maximum number of nodes. If MayHold
// returns false, the caller must write the partial to storage and deliver the name of its blob.
func (s *Session) MayHold(undelivered int) bool {
	return s.cfg.Hello.Holds && s.leader.holds && s.work.nodes+undelivered < wire.MaxNodes
}

// ReturnHeld ends a call of Merge whose result is large: the caller keeps the partial. It reports
// whether the session accepts the node. If the session does not accept the node, the caller must
// drop the partial.
//
// Operands of the call on this worker can be dropped, because they would be lost together with the
// result. If the result lacks skipped partitions, however, another leader may refuse it, so the
// leader decides when the operands are dropped.
func (s *Session) ReturnHeld(h *HeldCall, n wire.HeldNode) (kept bool) {
	s.endCall(h)
	if h.dropped {
		return false
	}
	s.holdNode(h.job, n)
	for _, o := range h.call.Operands {
		if o.Holder == s.cfg.Worker && h.call.Lacking == 0 {
			s.dropNode(h.job, o.Node)
		}
	}
	s.dropCall(h)
	return true
}

// NodeStored records that a held partial is in storage, in a blob. It reports whether the session
// tells the leader of the blob. The session does not tell the leader if the partial is no longer
// held. If the node's job has ended, the caller must remove the blob.
func (s *Session) NodeStored(held wire.HeldNode, blob string) (told bool) {
	j, _ := s.find(held.Job)
	if j == nil {
		return false
	}
	stored := wire.Item{Partial: &wire.Partial{Node: held.Node, Blob: blob, Stored: true, Size: held.Size, Lacking: held.Lacking}}
	h := j.held(held)
	if h == nil {
		j.refuse(blobsOf(stored))
		return false
	}
	if h.stored == 0 {
		s.keep(j, item{Item: stored, blobs: blobsOf(stored)})
		h.stored = j.last()
		s.hurry()
	}
	return true
}

// NodeNotStored records that the write for a [StoreNode] has failed, so that the leader may order
// another write.
func (s *Session) NodeNotStored(held wire.HeldNode) {
	if j, _ := s.find(held.Job); j != nil {
		if h := j.held(held); h != nil {
			h.storing = false
		}
	}
}

// held returns the entry of a held partial, or nil if the worker does not hold it any more. Another
// partial of the same node, which lacks other skipped partitions, does not count.
func (j *job) held(n wire.HeldNode) *heldNode {
	if at, found := j.findNode(n.Node); found && j.nodes[at].HeldNode == n {
		return j.nodes[at]
	}
	return nil
}

// NodeFailed fails the job of a held node for a reason that the caller cannot resolve.
func (s *Session) NodeFailed(job string, n engine.Node, reason string) {
	j, _ := s.find(job)
	if j == nil {
		return
	}
	if _, found := j.findNode(n); found {
		s.keep(j, item{Item: wire.Item{Failure: &wire.Failure{Partition: j.tree.Span(n).Lo, Error: reason, Permanent: true}}})
		s.hurry()
	}
}

// NodeLost records that the caller no longer has a held partial: the partial could not be read
// back, or it was dropped because it is durable and memory was short.
func (s *Session) NodeLost(job string, n engine.Node) {
	if j, _ := s.find(job); j != nil && s.forgetNode(j, n) {
		s.hurry()
	}
}

// NodeDurable reports whether a held partial is durable. The caller may drop a durable partial if
// memory is short, and must then call [Session.NodeLost].
func (s *Session) NodeDurable(job string, n engine.Node) bool {
	j, _ := s.find(job)
	if j == nil {
		return false
	}
	at, found := j.findNode(n)
	return found && j.isDurable(j.nodes[at])
}

func (j *job) isDurable(h *heldNode) bool { return h.stored > 0 && h.stored <= j.durable }

// Held returns how many nodes are held, and the size of their partials in bytes.
func (s *Session) Held() (nodes int, bytes uint64) {
	for _, j := range s.work.jobs {
		for _, h := range j.nodes {
			bytes += h.Size
		}
	}
	return s.work.nodes, bytes
}

// Undurable calls visit for each held node that is not durable, with the ID of the node's job and
// the number of the node's partitions.
func (s *Session) Undurable(visit func(job string, partitions uint64)) {
	for _, j := range s.work.jobs {
		for _, h := range j.nodes {
			if !j.isDurable(h) {
				visit(j.id, j.tree.Span(h.Node).Len())
			}
		}
	}
}

// undurableNodes returns the number of held nodes that are not durable.
func (s *Session) undurableNodes() (n int) {
	s.Undurable(func(string, uint64) { n++ })
	return n
}

// dropDurableNodes drops the durable nodes, so that a worker that drains can leave.
func (s *Session) dropDurableNodes() {
	for _, j := range s.work.jobs {
		for _, h := range slices.Clone(j.nodes) {
			if j.isDurable(h) {
				s.dropNode(j, h.Node)
			}
		}
	}
}

// heldNodes lists the held nodes for a report.
func (s *Session) heldNodes() []wire.HeldNode {
	if s.work.nodes == 0 {
		return nil
	}
	list := make([]wire.HeldNode, 0, s.work.nodes)
	for _, j := range s.work.jobs {
		for _, h := range j.nodes {
			list = append(list, h.HeldNode)
		}
	}
	return list
}

// orderNodes carries out the leader's orders about held nodes.
func (s *Session) orderNodes(j *job, r wire.JobReceipt) {
	for _, n := range r.Release {
		s.dropNode(j, n)
	}
	for _, n := range r.Store {
		if held, ok := s.BeginStore(j.id, n); ok {
			s.do(StoreNode{held})
		}
	}
}

// BeginStore records that the caller writes a held partial to storage without a [StoreNode], and
// describes the partial. It returns false if the partial is already being written, is already in
// storage, or is not held.
func (s *Session) BeginStore(job string, n engine.Node) (held wire.HeldNode, ok bool) {
	j, _ := s.find(job)
	if j == nil {
		return wire.HeldNode{}, false
	}
	at, found := j.findNode(n)
	if !found || j.nodes[at].storing || j.nodes[at].stored > 0 {
		return wire.HeldNode{}, false
	}
	j.nodes[at].storing = true
	return j.nodes[at].HeldNode, true
}

// HoldsNode reports whether the worker holds the partial of a node.
func (s *Session) HoldsNode(job string, n engine.Node) bool {
	j, _ := s.find(job)
	if j == nil {
		return false
	}
	_, found := j.findNode(n)
	return found
}

// Pause tells the session whether memory is short. The worker begins no partition while memory is
// short.
func (s *Session) Pause(short bool) { s.work.paused = short }
