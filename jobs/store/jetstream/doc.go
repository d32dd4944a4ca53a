// Package jetstream is the storage driver on a NATS server's JetStream. Its
// [Driver] is both store.Blobs and store.Queue.
//
// A cluster C has, all of file storage and created by [Open] where missing:
//
//	KV_bellwether-C       a key-value bucket, one revision per key: values
//	bellwether-C-large    the chunks of values too large for one message
//	bellwether-C-queue    a work queue of submissions, with one durable consumer
//
// A user with limited rights needs $KV.bellwether-C.> and bellwether.C.store.>
// besides some of JetStream's own $JS.API.> and $JS.ACK.>: deploy/nats has them.
//
// The bucket's revisions are the versions: a Put is one message that JetStream
// stores only if the key's last revision is the expected one. The first byte of
// a stored value tells what follows: the value, or a pointer to chunks. Chunks are
// written first, under a name that no other write has, and then the pointer; so
// a reader sees the old value or the new one, whole. The chunks of a replaced value
// are removed once the new pointer stands. A reader that comes upon the gap looks
// up the pointer again. The name is part of the version, so that a compare-and-swap
// knows what it replaced without asking.
//
// Chunks are not kept in a NATS object store, whose Put and Get each need two more
// messages and whose Get waits for its deadline where an object has vanished.
//
// JetStream acknowledges a message before it is synced to disk, unless the server
// is told sync_interval: always. Package natsserver tells it.
//
// What can fail: without a server, or where a stream has no leader, calls wait for
// [Config.CallTimeout] and return store.ErrUnavailable; Receive waits until it is
// back. A process that dies between the chunks and the pointer leaves chunks that
// nothing points to: DeletePrefix removes them.
package jetstream
