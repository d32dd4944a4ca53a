// Package servers runs the servers of queues. Redis and PostgreSQL from Debian's packages run as
// processes with their data in a given folder. NATS runs in this process, like the built-in server
// of Bellwether. Each server listens on a free port of 127.0.0.1.
//
// The error is [ErrMissing] if a server is not installed.
package servers
