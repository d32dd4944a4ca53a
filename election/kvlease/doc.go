// Package kvlease implements election.Lease on one key of a NATS JetStream key-value
// bucket.
//
// The key holds the record. Each write of the record is a compare-and-swap on the
// key's revision. The record is never deleted, so epochs never start again.
//
//	never held ──Acquire──▶ held ──Release──▶ free
//	                        │ ▲ ▲               │
//	       Renew, Transfer ─┘ │ └────Acquire────┘
//	                          └ Acquire in place of the holder's lease ID, or after expiry
//
// # Expiry without a server's clock
//
// JetStream does not expire the lease. Each claimant decides whether the lease has
// expired. Every renewal writes the record and thereby changes the key's revision. A
// claimant without Replaces may take a held lease only if the claimant has seen the
// same revision for the whole duration on its own monotonic clock. The claimant takes
// the lease by a compare-and-swap on that revision.
//
// This rule is correct without a comparison of clocks. The holder counts from when it
// sent a renewal. The claimant counts from when it read the renewed record, which is later.
// So when the duration has passed for the claimant, more than the duration has passed
// for the holder, and the holder stopped leading a margin before. The margin covers
// clocks that run at different speeds. If the holder has renewed in between, the revision
// has changed and the compare-and-swap fails.
//
// The cost: a claimant's wait starts with its own first read, so it takes an expired
// lease at the second attempt at the earliest. A claim that replaces the holder, and a
// claim of a released or new lease, need not wait.
//
// # What can fail
//
//   - The answer to a write is lost. The next write finds the revision changed, reads
//     the record once, and finds its own lease ID there: the earlier write succeeded.
//     The driver still writes again, because only an acknowledged write proves that the
//     duration was restarted.
//   - A read comes from a replica that lags. A stale read does no harm, because every
//     write that depends on a read is a compare-and-swap.
//   - A write waits in the client's buffer while the client reconnects, and arrives
//     late. If the revision has not changed, the lease is renewed or acquired for a
//     process that no longer relies on the lease. The others notice that the process
//     does not answer and take over.
//   - An operator deletes the key or the bucket. Epochs start again at 1, and the fences
//     in storage refuse the new leader's writes. Never delete the key or the bucket.
//   - JetStream acknowledges a write before it syncs the write to disk, unless configured
//     otherwise. If a server loses power, two holders may get the same epoch. The
//     embedded server syncs first; on other servers, replicate the bucket.
package kvlease
