// Package jetstream is the storage driver for JetStream on a NATS server. Its [Driver] is
// both store.Blobs and store.Queue. It is internal to Bellwether.
//
// A cluster C has these streams, all on file storage, which [Open] creates if they are
// missing:
//
//	KV_bellwether-C       a key-value bucket with one revision per key: values
//	bellwether-C-large    the chunks of values that are too large for one message
//	bellwether-C-queue    a work queue of submissions, with one durable consumer
//
// A user with limited rights needs $KV.bellwether-C.> and bellwether.C.store.>, and some
// subjects under $JS.API.> and $JS.ACK.>: see deploy/nats.
//
// The version of a value is the revision in the bucket. A Put is one message, which
// JetStream stores only if the key's last revision is the expected one. The first byte of
// a stored value says what follows: the value or a pointer to chunks. The chunks are
// written first, under a name that no other write uses. The pointer is written after the
// chunks. So a reader sees either the old or the new value, complete. The chunks of a
// replaced value are removed after the new pointer is written. If a reader finds chunks
// missing, it reads the pointer again. The name is part of the version, so a
// compare-and-swap knows which chunks it replaced without another request.
//
// A NATS object store is not used for chunks, because its Put and Get need two more
// messages each, and its Get waits for its deadline if an object has vanished.
//
// JetStream acknowledges a message before it is synced to disk, unless the server has
// sync_interval: always. Package natsserver sets it.
//
// What can fail: if there is no server, or a stream has no leader, calls wait for
// [Config.CallTimeout] and return store.ErrUnavailable; Receive waits until the server is
// back. A process that dies between the chunks and the pointer leaves chunks without a
// pointer; DeletePrefix removes them.
package jetstream
