// Package jetstream is the storage driver for JetStream on a NATS server. The type [Driver]
// implements both store.Blobs and store.Queue. The package is internal to Bellwether.
//
// A cluster named C has three streams on file storage. [Open] creates missing streams.
//
//	KV_bellwether-C       a key-value bucket that keeps the last revision of each value
//	bellwether-C-large    the chunks of values that are too large for one message
//	bellwether-C-queue    a work queue of submissions, with one durable consumer
//
// A NATS user with limited permissions needs $KV.bellwether-C.>, bellwether.C.store.> and some
// subjects under $JS.API.> and $JS.ACK.>; deploy/nats lists them.
//
// The version of a value is the revision in the bucket. A Put is one message, which JetStream
// stores only if the key's last revision is the expected revision. The first byte of a stored value
// says whether the value or a pointer to chunks follows. A Put of a large value first writes the
// chunks, under a name that no other write uses, and then the pointer. A reader therefore sees
// either the complete old value or the complete new value. The chunks of the replaced value are
// removed after the new pointer is written. If a chunk is missing, the reader reads the pointer
// again. The chunks' name is part of the version, so a compare-and-swap can remove the replaced
// chunks without another request.
//
// The chunks are not in a NATS object store, because Put and Get of an object store need two more
// messages each, and Get waits until the deadline if an object no longer exists.
//
// Reads go to the leader of a stream if the servers form a cluster, because a replica may lag
// behind. Replicas may be added to the streams at any time, even to streams that allow direct
// reads.
//
// JetStream acknowledges a message before it is synced to disk, unless the server has
// sync_interval: always. Package natsserver sets the option sync_interval: always.
//
// If the account has a storage limit, the driver reserves a part of the space below the limit. New
// large values and new submissions may not use the reserved space, and fail with store.ErrFull. The
// embedded server of package natsserver has a storage limit.
//
// If no server answers, or if a stream has no leader, calls wait for [Config.CallTimeout] and
// return store.ErrUnavailable. If the connection is lost during a call, the call returns
// store.ErrUnavailable at once, except that a write of a large value first waits for its messages in
// flight. Receive waits until the server is available. A process may die between writing chunks and
// writing their pointer, or between deleting a pointer and removing its chunks. Chunks without a
// pointer then remain. DeletePrefix and DeleteRemains remove chunks without a pointer.
package jetstream
