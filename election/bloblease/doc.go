// Package bloblease implements election.Lease on one Azure blob that serves no other
// purpose: the blob is empty, the blob's lease is the lease, and the blob's metadata is
// the record. Blob and metadata are never deleted, so epochs never start again.
// Bellwether creates the blob and its container if they are missing.
//
//	             Acquire                       Release
//	available ─────────────▶ leased under A ─────────────▶ available
//	                          │ ▲      │ ▲
//	          Renew ──────────┘ │      │ └ Change A to B: Acquire replacing A, Transfer
//	                            │      ▼
//	                            └─── expired
//	                         Acquire
//
// # Order
//
// Acquire takes two or three requests, and one more if the record is not known:
//
//  1. Change Lease from the replaced ID to the claim's ID. This is a compare-and-swap on
//     the holder. Change Lease does not restart the duration.
//  2. Acquire Lease under the claim's ID. This request decides the claim: it succeeds if
//     the lease has the claim's ID or is free, and then restarts the duration.
//  3. Write epoch, holder and lease ID into the metadata, on condition of the lease ID
//     and of If-Match. The claimant is the holder only after this write.
//
// Lease calls do not change the blob's ETag. So if Acquire Lease returns the ETag of the
// record most recently read, the record need not be read again.
//
// A claim ends if Change Lease refuses it because another process has the lease, so a
// late claim costs one request. A second claim that replaces the same ID continues with
// Acquire Lease despite the refusal, in case storage uses the same error code for an
// expired lease.
//
// Every step may be repeated, so a lost answer costs only time. A repeated claim finds
// the lease and the record of the earlier try. Transfer writes the record before it
// changes the lease ID, because the holder can still release the lease under the old ID.
//
// # What can fail
//
//   - An answer is lost, or storage is slow, busy or unreachable: the call returns
//     election.ErrUnavailable within [Config.CallTimeout], or by its context's deadline
//     if the deadline is sooner. The SDK's retries are included.
//   - A request arrives after its caller has given up. The lease may then be held until
//     it expires under an ID that no process uses. The record cannot go back, because
//     each write of the record is a compare-and-swap.
//   - Access is denied: the error wraps election.ErrUnavailable and says how to get
//     access. See package account.
//   - An operator deletes the blob. Holders lose the lease, and processes that have seen
//     the record refuse to continue: otherwise epochs would start again at 1, and the
//     fences in storage would refuse the new leader's writes. Never delete the blob, and
//     exclude it from lifecycle rules.
//   - Azurite renews an expired lease for any caller, so the driver compares the lease ID
//     in the answer. Whether Azure does the same is not known.
//
// # Tested on Azurite, not on Azure
//
// The driver was tested on Azurite 3.37, and never on an Azure account. It relies on
// these rules, which are also in Azure's documentation of Lease Blob: Acquire Lease with
// the lease's current ID restarts the duration; Change Lease to the lease's current ID
// succeeds; Change Lease fails if the lease has expired; no lease call changes the ETag.
// If Azure's error codes differ from Azurite's, a claim may be refused once more than
// necessary or wait until the lease expires. The epoch is safe in any case, because of
// If-Match.
package bloblease
