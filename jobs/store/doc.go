// Package store keeps the durable state of a cluster: submissions, specs, plans,
// manifests, partials, results, attachments, the index of active jobs and the history of
// leaders.
//
// The package is internal to Bellwether: programs submit and read jobs through jobs/client. To
// support another storage, implement only [Blobs] and [Queue].
//
//	coordinator, worker, jobs/client
//	       |
//	     Store        types, keys, formats
//	     /   \
//	 Blobs   Queue    a driver: azure, jetstream, memory; folder, without a queue
//
// The rest of Bellwether uses [Store]. Drivers implement [Blobs] and [Queue]; package storetest
// contains the conformance suite for drivers.
//
// # Keys
//
//	spec/JOB            the job as it was submitted; immutable; the submission contains its version
//	plan/JOB            the job's plan: how it is divided into partitions, and the name of the blob with
//	                    what the job reuses; immutable
//	manifest/JOB        the checkpoint; replaced by compare-and-swap
//	partial/JOB/SHA256  a node and its large partial, an output of a call, or what the job reuses; immutable
//	partial/JOB/ROUND/SHA256
//	                    the same of a round, and the large state of the round
//	result/JOB          the result, as the definition encoded it; immutable
//	attachment/JOB/SHA256/OFFSET
//	                    a piece of the attachment of a result; immutable
//	journal/JOB/WRITER/NUMBER
//	                    a page of a job's events or logs, of one leader or worker: see package journal
//	active/JOB          empty; exists until the job has ended
//	term/EPOCH          the record of one leader's term
//	poison/NAME         a message that was moved out of the queue, and the reason
//	kept/FAMILY/ID, packs/ID
//	                    partials that later jobs reuse: see package kept
//	identity            a random number that identifies the storage; immutable
//
// # Formats
//
// A record is a byte with the version of the format, followed by a CBOR value in core deterministic
// encoding. A program refuses records of an unknown version and ignores unknown fields, so a field
// can be added without a new version. Only the spec of a job with estimates has another version, because earlier
// programs would complete such a job with another result. When a leader replaces a manifest, it keeps the unknown
// fields. Times are whole microseconds since 1970, UTC.
//
// # What can fail
//
//   - [ErrUnavailable]: storage cannot be reached. A write that
//     returned ErrUnavailable may have taken effect.
//   - [ErrFull], an ErrUnavailable: storage has no room until values are deleted.
//   - [ErrTooLarge]: storage can never keep a value of this size.
//   - [ErrConflict]: another writer wrote the value first.
//   - [ErrCorrupt]: a record is damaged or of an unknown format.
//   - Storage loses writes that it has acknowledged: see [WriteCounter].
//
// The methods of [Store] do not retry, because only the caller knows for how long a retry is
// useful. Only [Store.Receive] waits.
package store
