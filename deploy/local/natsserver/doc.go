// Package natsserver runs a NATS server with JetStream inside the process, for clusters on one
// machine and for tests. The embedded NATS server listens only on 127.0.0.1, and syncs every write
// to disk before acknowledging it.
//
// The NATS server has a storage limit, which clients can read. Package jobs/store/jetstream
// reserves a part of the storage limit for the lease and for ending jobs. Writes fail if the disk
// becomes full before the storage limit is reached. When the disk has space again, package
// natsserver restarts the server on the same port, because a server with a failed write accepts no
// further writes. A damaged file of messages also makes writes fail: then the restarted server drops
// what stands behind the damage in the file, as any NATS server does that was killed.
//
// Start fails if the port or the data directory is in use. [Start] locks a file in the data
// directory; the system releases the lock when the process ends for any reason.
package natsserver
