// Package natsserver runs a NATS server with JetStream inside the process, for
// clusters on one machine and for tests. It listens on 127.0.0.1 alone, and syncs
// every write to disk before it acknowledges it.
//
// What can fail: the port may be taken, and the data directory may be in use by
// another process, which [Start] finds out by a lock on a file in it. The lock ends
// with the process, however it ends.
package natsserver
