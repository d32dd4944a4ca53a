// Package natsserver runs a NATS server with JetStream inside the process, for clusters
// on one machine and for tests. The server listens on 127.0.0.1 only, and syncs every
// write to disk before it acknowledges it.
//
// The server has a storage limit, which clients can read. Package jobs/store/jetstream
// reserves a part of the room below the limit for the lease and for the end of jobs. If
// the disk fills up below the limit, writes fail and the server does not write again
// until there is room; then it restarts itself on the same port.
//
// What can fail: the port or the data directory may be in use. [Start] locks a file in
// the directory; the system releases the lock when the process ends for any reason.
package natsserver
