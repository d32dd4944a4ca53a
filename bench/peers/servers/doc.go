// Package servers runs the servers of queues: Redis and PostgreSQL from Debian's packages, each as
// a process with its data in a given folder, and NATS inside this process, like the built-in server
// of Bellwether. Each server listens on a free port of 127.0.0.1.
//
// [ErrMissing] is returned if a server is not installed.
package servers
