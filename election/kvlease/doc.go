// Package kvlease is the lease on one key of a NATS JetStream key-value bucket.
//
// The key holds the record; each write of it is a compare-and-swap on the key's
// revision. The record is never deleted, so epochs grow for ever.
//
//	never held ──Acquire──▶ held ──Release──▶ free
//	                        │ ▲ ▲               │
//	       Renew, Transfer ─┘ │ └────Acquire────┘
//	                          └ Acquire over the holder's lease ID, or after expiry
//
// # Expiry without a server's clock
//
// JetStream does not expire the lease; claimants do. Every renewal writes the
// record and thereby changes its revision. A claimant that does not name the
// holder may take a held lease only where it has itself seen the same revision
// for the whole duration, on its own monotonic clock, and only by a
// compare-and-swap on that very revision.
//
// This is right without comparing any clocks. The holder counts its time from
// when it sent a renewal; the claimant counts from when it had read what the
// renewal wrote, which is later. So when a duration has passed for the claimant,
// more than a duration has passed for the holder, which stopped leading a margin
// before. The margin covers clocks that run at different speeds. Had the holder
// renewed meanwhile, the revision would be another and the swap would fail.
//
// The price: a claimant's wait begins with its own first look, so an expired lease
// is taken at the second attempt at the earliest. That is the fallback; a claim
// that names the holder, a lease that was released and one never held need no
// waiting.
//
// # What can fail
//
//   - The answer to a write is lost. The next write finds the revision changed,
//     reads the record once, and finds its own lease ID there: the earlier write
//     did succeed. It writes again all the same, since only a swap that was
//     acknowledged starts the duration anew for sure.
//   - A read comes from a replica that lags. It cannot do harm: what follows from
//     a read is done by compare-and-swap.
//   - A write waits in the client's buffer while it reconnects, and arrives late.
//     If the revision is still the same, the lease is renewed, or acquired, for a
//     process that no longer counts on it. The others find out that it does not
//     answer and take over.
//   - An operator deletes the key or the bucket. Epochs begin again at 1, and the
//     fences in storage refuse the new leader's writes. Do not.
//   - JetStream acknowledges before it syncs to disk, unless told otherwise: if a
//     server loses power, an epoch may be given twice. The embedded server syncs;
//     replicate the bucket in others.
package kvlease
