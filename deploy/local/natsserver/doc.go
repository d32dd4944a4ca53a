// Package natsserver runs a NATS server with JetStream inside the process, for clusters
// on one machine and for tests. The server listens on 127.0.0.1 only, and syncs every
// write to disk before it acknowledges it.
//
// What can fail: the port or the data directory may be in use. [Start] locks a file in
// the directory; the system releases the lock when the process ends, for whatever reason.
package natsserver
