// Package store keeps the durable state of a cluster: submissions, specs, plans,
// manifests, partials, results, attachments, the index of active jobs and the history of
// leaders.
//
// It is internal to Bellwether. Programs submit and read jobs through jobs/client.
// Authors of other drivers implement only [Blobs] and [Queue].
//
//	coordinator, worker, jobs/client
//	       |
//	     Store        types, keys, formats
//	     /   \
//	 Blobs   Queue    a driver: azure, jetstream, memory
//
// The rest of Bellwether uses [Store]. Drivers implement [Blobs] and [Queue]; package
// storetest has the conformance suite for drivers.
//
// # Keys
//
//	spec/JOB            what was submitted; immutable; its version is in the submission
//	plan/JOB            how the job is divided; immutable
//	manifest/JOB        the checkpoint; replaced by compare-and-swap
//	partial/JOB/SHA256  a node and its large partial; immutable
//	result/JOB          the result, as the definition encoded it; immutable
//	attachment/JOB/SHA256/OFFSET
//	                    a piece of the attachment of a result; immutable
//	active/JOB          empty; exists until the job has ended
//	term/EPOCH          one change of leader
//	poison/NAME         a message that was moved out of the queue, and why
//	identity            a random number that distinguishes the storage; immutable
//
// # Formats
//
// A record is a byte with the version of the format, followed by a CBOR value in core
// deterministic encoding. A program refuses versions that it does not know and ignores
// fields that it does not know, so a field can be added without a new version. A leader
// that replaces a manifest writes the fields that it does not know again. Times
// are whole microseconds since 1970, UTC.
//
// # What can fail
//
//   - [ErrUnavailable]: storage cannot be reached. A write that
//     returned ErrUnavailable may have taken effect.
//   - [ErrFull], an ErrUnavailable: storage has no room until values are deleted.
//   - [ErrTooLarge]: storage can never keep a value of this size.
//   - [ErrConflict]: another writer wrote the value first.
//   - [ErrCorrupt]: a record is damaged or of an unknown format.
//
// No method of [Store] retries, because only the caller knows how long a retry is
// useful. Only [Store.Receive] waits.
package store
