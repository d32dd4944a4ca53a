// Package jetstream is the storage driver for JetStream on a NATS server. Its [Driver]
// implements both store.Blobs and store.Queue. It is internal to Bellwether.
//
// A cluster C has the following streams, all on file storage. [Open] creates missing
// streams.
//
//	KV_bellwether-C       a key-value bucket with one revision per key: values
//	bellwether-C-large    the chunks of values that are too large for one message
//	bellwether-C-queue    a work queue of submissions, with one durable consumer
//
// A user with limited rights needs $KV.bellwether-C.> and bellwether.C.store.>, and some
// subjects under $JS.API.> and $JS.ACK.>: see deploy/nats.
//
// The version of a value is the revision in the bucket. A Put is one message, which
// JetStream stores only if the key's last revision is the expected revision. The first
// byte of a stored value says what follows: the value or a pointer to chunks. The chunks
// are written first, under a name that no other write uses. The pointer is written after
// the chunks. So a reader sees either the old or the new value, complete. The chunks of a
// replaced value are removed after the new pointer is written. If a reader finds chunks
// missing, it reads the pointer again. The chunks' name is part of the version, so a
// compare-and-swap knows the replaced chunks without another request.
//
// A NATS object store is not used for chunks, because an object store's Put and Get
// need two more messages each, and its Get waits until the deadline if an object has
// vanished.
//
// Reads go to the leader of a stream if the servers form a cluster, because a replica may
// lag behind. Replicas may be added to the streams at any time, also to streams that
// allow direct reads.
//
// JetStream acknowledges a message before it is synced to disk, unless the server has
// sync_interval: always. Package natsserver sets this option.
//
// If the account has a storage limit, a part of the room below the limit is reserved: new
// large values and new submissions get store.ErrFull before the limit. The embedded server
// of package natsserver has a storage limit.
//
// What can fail: if there is no server, or a stream has no leader, calls wait for
// [Config.CallTimeout] and return store.ErrUnavailable; Receive waits until the server is
// back. A process that dies between writing the chunks and writing the pointer, or between
// replacing or deleting the pointer and removing its chunks, leaves chunks without a
// pointer. DeletePrefix and DeleteRemains remove such chunks.
package jetstream
