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
// JetStream does not expire the lease. Each claimant decides whether it has expired.
// Every renewal writes the record and thereby changes its revision. A claimant that
// does not replace a given holder may take a held lease only if the claimant has seen
// the same revision for the whole duration on its own monotonic clock, and only by a
// compare-and-swap on that revision.
//
// This is correct without a comparison of clocks. The holder counts from when it sent
// a renewal. The claimant counts from when it read the renewed record, which is later.
// So when the duration has passed for the claimant, more than the duration has passed
// for the holder, which stopped leading a margin before. The margin covers clocks that
// run at different speeds. If the holder has renewed in between, the revision has
// changed and the swap fails.
//
// The cost: a claimant's wait starts with its own first read, so it takes an expired
// lease at the second attempt at the earliest. A claim that replaces the holder, and a
// claim of a released or new lease, need not wait.
//
// # What can fail
//
//   - The answer to a write is lost. The next write finds the revision changed, reads
//     the record once, and finds its own lease ID there: the earlier write succeeded.
//     The driver writes again all the same, because only an acknowledged swap proves
//     that the duration was restarted.
//   - A read comes from a replica that lags. It does no harm, because every write that
//     depends on a read is a compare-and-swap.
//   - A write waits in the client's buffer while the client reconnects, and arrives
//     late. If the revision has not changed, the lease is renewed or acquired for a
//     process that no longer relies on it. The others notice that the process does not
//     answer and take over.
//   - An operator deletes the key or the bucket. Epochs start again at 1, and the fences
//     in storage refuse the new leader's writes. Never delete them.
//   - JetStream acknowledges before it syncs to disk, unless it is configured otherwise.
//     If a server loses power, two holders may get the same epoch. The embedded server
//     syncs; on other servers, replicate the bucket.
package kvlease
