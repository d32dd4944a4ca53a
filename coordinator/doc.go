// Package coordinator is what the leader does: the shell around the ledger,
// which decides everything and performs nothing.
//
//	workers --reports--> link --inputs--> reign's loop --events--> ledger
//	        <-receipts--                       ^    <--actions--
//	                                           |
//	      merges, checkpoints, submissions ----+   (goroutines beside the loop)
//
// One goroutine, the reign's, owns the ledger and the table of partials. It never
// waits: merges of users' values, storage and planning happen beside it and come
// back as inputs. So a ping that it answers proves that the leader as a whole
// turns, and each turn is a beat without which the lease is not renewed.
//
// A term goes:
//
//  1. Listen on the subjects of the epoch, and send a beacon. Workers begin to
//     report; their reports wait.
//  2. Fence, then read: each active job's manifest is rewritten with the epoch by
//     compare-and-swap. From then on no write of an earlier leader succeeds.
//  3. Give the jobs to a new ledger, which settles: it hears what workers hold
//     before it assigns what nobody does.
//  4. Dispatch, merge, checkpoint. What workers reported is called durable only
//     after storage has acknowledged a manifest that contains it.
//  5. End a job: result, then the manifest that names its digest, then the index
//     and the submission. Whatever is left undone there the next leader does.
//
// What can fail:
//
//   - The process dies: workers keep what no checkpoint has, and tell the next leader.
//   - An answer of storage is lost: the write is tried again, its condition fails,
//     and what is read back tells whether it was this leader's own.
//   - Storage is out of reach: calls are tried until it is back or the term is over;
//     workers go on with what they hold.
//   - Another leader has written a manifest: the term is over, at once.
//   - A job's code fails: that is the job's end, or an attempt less, and never the
//     leader's.
//   - A message makes no sense: it is refused and logged, and nothing follows from it.
package coordinator
