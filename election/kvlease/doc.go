// Package kvlease implements election.Lease on one key of a NATS JetStream key-value
// bucket.
//
// The value of the key is the record. Each write of the record is a compare-and-swap on the
// revision of the key. The record is never deleted, so epochs never begin again at 1.
//
//	never held ──Acquire──▶ held ──Release──▶ free
//	                        │ ▲ ▲               │
//	       Renew, Transfer ─┘ │ └────Acquire────┘
//	                          └ Acquire in place of the holder's lease ID, or after expiry
//
// # Expiry without a server's clock
//
// JetStream does not expire the lease. Instead, each claimant decides whether the lease has
// expired. Every renewal writes the record and thereby changes the key's revision. A claimant that
// does not replace a lease ID may take a held lease only if it has seen the same revision for the
// lease's whole duration, on its own monotonic clock. The claim takes the expired lease by a
// compare-and-swap on that revision.
//
// The rule of expiry is correct although the processes' clocks are not compared. The holder
// measures the duration from the time at which it sent a renewal. The claimant measures the
// duration from the time at which it read the renewed record, which is later. When the duration has
// passed for the claimant, it has therefore also passed for the holder, which stopped leading even
// earlier, by the margin. The margin allows for clocks that run at different speeds. If the holder
// has renewed the lease since the claimant's read, the revision has changed and the
// compare-and-swap fails.
//
// A claimant's wait begins with its own first read, so the claimant can take an expired lease only
// at its second attempt or later. A claim that replaces a lease ID, or claims a released or new
// lease, need not wait.
//
// # What can fail
//
//   - The answer to a write is lost: the next write fails because the revision has changed. The
//     driver then reads the record and finds its own lease ID, which proves that the lost write
//     succeeded. The driver writes again nevertheless, because only an acknowledged write proves
//     that the duration has begun again.
//   - A lagging replica answers a read with an old record. An old record does no harm, because
//     every write that depends on a read is a compare-and-swap.
//   - A write waits in the client's buffer while the client reconnects, and arrives late. If the
//     revision has not changed, the late write renews or acquires the lease for a process that no
//     longer expects to have it. The other processes notice that the late writer does not answer,
//     and take over.
//   - The server loses the record, or has an older one, because its files were damaged or an operator
//     has deleted the key or the bucket: Acquire creates a missing bucket. Epochs begin again at a
//     lower number. The fences in storage refuse the new leader's writes and show it the highest
//     epoch, and its next claim begins above that epoch ([election.Claim]).
//   - JetStream acknowledges a write before it syncs the write to disk, unless configured
//     otherwise. If a server loses power, two holders may get the same epoch. Bellwether's embedded
//     server syncs before it acknowledges; on other servers, replicate the bucket.
package kvlease
