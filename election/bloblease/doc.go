// Package bloblease is the lease on one Azure blob, which serves nothing else: the
// blob is empty, its lease is the lease, and its metadata is the record. Neither is
// ever deleted, so epochs grow for ever. Bellwether creates the blob, and the
// container, where they are missing.
//
//	             Acquire                       Release
//	available ─────────────▶ leased under A ─────────────▶ available
//	                          │ ▲      │ ▲
//	          Renew ──────────┘ │      │ └ Change A to B: Acquire over A, Transfer
//	                            │      ▼
//	                            └─── expired
//	                         Acquire
//
// # Order
//
// To acquire takes two or three requests, and one more where the record is not
// known: Change Lease from the ID claimed over to one's own (a compare-and-swap on
// the holder), which does not start the duration anew; Acquire Lease under one's own
// ID, which does, and decides: it succeeds for whoever has that ID and where nobody
// has the lease; then epoch, holder and lease ID go into the metadata, under the
// lease ID and If-Match. Only then is one the holder. Lease calls leave the ETag as
// it is, so the record read last needs no reading again if Acquire Lease returns the
// same ETag.
//
// A claim that Change Lease refuses because the lease is another's by now ends
// there: so those who come late cost one request each. A second claim over the same
// ID goes on to Acquire Lease all the same, in case storage refuses for an expired
// lease by the same code.
//
// Every step may be repeated: so an answer that was lost costs only time. The same
// claim again finds its lease and its record. To transfer writes the record before
// it changes the lease, because a lease that is still one's own can be released.
//
// # What can fail
//
//   - Answers are lost, or storage is slow, busy or away: the call returns
//     election.ErrUnavailable, within [Config.CallTimeout] or by its context's
//     deadline. The SDK's retries happen within that.
//   - Requests arrive late, when nobody waits for them any more. The lease may then
//     be held under an ID that nobody uses, until it expires. The record cannot go
//     back: each write of it is a compare-and-swap.
//   - Access is denied: the error, which is also election.ErrUnavailable, says what
//     to do. Signing in is the subject of package account.
//   - Somebody deletes the blob. Holders lose the lease, and processes that knew it
//     refuse to go on: epochs would begin again at 1, and the fences in storage would
//     refuse the new leader's writes. Do not; exclude it from lifecycle rules, too.
//   - Azurite renews an expired lease for anyone who asks. So the lease ID that comes
//     back is compared. It has not been seen whether Azure itself does so.
//
// # Seen on Azurite, not on Azure
//
// All of this was tried on Azurite 3.37 and on no Azure account. It rests on these
// rules, which Azure's documentation of Lease Blob gives too: Acquire Lease under the
// ID that the lease has starts the duration anew; Change Lease to the ID that the
// lease has already succeeds; Change Lease fails where the lease has expired; no
// lease call changes the ETag. Where Azure's codes should differ from Azurite's, a
// claim is refused once more than needed, or waits for the lease to expire; the
// epoch is safe in any case, by If-Match.
package bloblease
