// Package store keeps what a cluster must not lose: submissions, specs, plans,
// manifests, partials, results, the index of active jobs and the history of
// leaders.
//
//	coordinator, cmd
//	       |
//	     Store        types, keys, formats
//	     /   \
//	 Blobs   Queue    a driver: azure, jetstream, memory
//
// [Store] is what the rest of the program uses. [Blobs] and [Queue] are what a
// driver implements; package storetest holds every driver to the same behaviour.
//
// Where things are:
//
//	spec/JOB            what was submitted; never changes
//	plan/JOB            how it is cut; never changes
//	manifest/JOB        the checkpoint; replaced by compare-and-swap
//	partial/JOB/SHA256  a node and its large partial; never changes
//	result/JOB          the result, as the definition encoded it; never changes
//	active/JOB          empty: the job has not ended
//	term/EPOCH          one change of leader
//	poison/NAME         a message that was taken out of the queue, and why
//
// A record is a byte that tells the format's version and a CBOR value in core
// deterministic encoding. A program refuses versions it does not know; it passes
// over fields it does not know, so a field may be added without a new version.
// Times are whole microseconds since 1970, UTC.
//
// What can fail: storage may be out of reach ([ErrUnavailable]), in which case a
// write may have been done all the same; somebody else may have written first
// ([ErrConflict]); and what is stored may be damaged ([ErrCorrupt]). No method
// retries: the caller knows until when it is worth it. Only [Store.Receive]
// waits.
package store
