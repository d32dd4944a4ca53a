// Package bloblease implements election.Lease on one Azure blob that has no other purpose. The blob
// is empty; its Azure lease is the election's lease, and its metadata is the record. The blob is
// never deleted, so epochs never begin again at 1. The driver creates the blob and its container if
// they are missing.
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
//  1. Change Lease from the replaced ID to the claim's ID. This is a compare-and-swap on the
//     holder. Change Lease does not restart the lease's duration.
//  2. Acquire Lease under the claim's ID. This request decides whether the claim succeeds: the
//     lease must have the claim's ID or be free. If the request succeeds, the duration begins
//     again.
//  3. Write epoch, holder and lease ID into the metadata. The write has two conditions: the lease
//     ID, and the ETag (If-Match). The claimant is the holder only after this write.
//
// Azure's lease calls do not change the blob's ETag. If Acquire Lease returns the ETag of the last
// record that was read, the record need not be read again.
//
// If Change Lease fails because another process has the lease, the claim fails at once. A claim
// that comes too late therefore takes only one request. A second claim that replaces the same ID
// continues with Acquire Lease despite the failure, because storage might use the same error code
// for an expired lease.
//
// Every step may be repeated, so a lost answer only causes a delay. A repeated claim finds the
// lease and the record of the earlier try. Transfer writes the record before it changes the lease
// ID, because the holder can still release the lease under the old ID.
//
// # What can fail
//
//   - An answer is lost, or storage is slow, busy or unreachable: the call returns
//     election.ErrUnavailable within [Config.CallTimeout], or at its context's deadline if that is
//     earlier. CallTimeout includes the SDK's retries.
//   - A request arrives after its caller has given up. The late request may acquire the lease under
//     an ID that no process uses; the lease is then held until it expires. The late request cannot
//     restore an older record, because each write of the record is a compare-and-swap.
//   - Access is denied: the error wraps election.ErrUnavailable and says how to get access.
//   - An operator deletes the blob: the holder loses the lease, and processes that have seen the
//     record refuse to continue. If such a process created a new blob, epochs would begin again at
//     1, and the fences in storage would refuse the new leader's writes. Operators must never
//     delete the blob, and must exclude it from lifecycle rules.
//   - Azurite renews an expired lease for any caller, so the driver checks the lease ID in the response.
//     Whether Azure also renews expired leases is unknown.
//
// # Tested on Azurite, not on Azure
//
// The driver was tested on Azurite 3.37, and never on an Azure account. The driver relies on four
// rules of Azure's documentation of Lease Blob: Acquire Lease with the current lease ID restarts
// the duration; Change Lease to the current lease ID succeeds; Change Lease fails if the lease has
// expired; no lease call changes the ETag. If Azure uses different error codes than Azurite, a
// claim may fail once more than necessary, or wait until the lease expires. The epoch is safe with
// any error codes, because of If-Match.
package bloblease
