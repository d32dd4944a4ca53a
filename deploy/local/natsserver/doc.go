// Package natsserver runs a NATS server with JetStream inside the process, for clusters on one
// machine and for tests. The server listens only on 127.0.0.1, and syncs every write to disk before
// acknowledging it.
//
// The server has a storage limit, which clients can read. Package jobs/store/jetstream reserves a
// part of the space below the limit for the lease and for ending jobs. If the disk becomes full
// before the limit is reached, writes fail. When there is space again, this package restarts the
// server on the same port, because the server would not write again before a restart.
//
// What can fail: the port or the data directory may be in use. [Start] locks a file in
// the directory; the system releases the lock when the process ends for any reason.
package natsserver
