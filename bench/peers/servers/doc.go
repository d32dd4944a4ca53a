// Package servers runs the servers that queues need: Redis and PostgreSQL, from
// Debian's packages, each as a process of its own with its data in a directory that
// is given, and NATS inside this process, as the built-in server of Bellwether is.
// All listen on a free port of 127.0.0.1.
//
// What can fail: a program is not installed ([ErrMissing]).
package servers
