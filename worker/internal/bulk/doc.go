// Package bulk moves large partials between workers: through a socket between workers on the same machine, and
// otherwise over NATS. The package needs separate NATS connections, so that messages of the protocol never wait
// behind large partials.
//
//	fetcher                                       holder
//	   │  an empty request over NATS                 │
//	   │ ───────────────────────────────────────────▶│  once for each holder
//	   │                    name of the socket, token│
//	   │ ◀───────────────────────────────────────────│
//	   │                                             │
//	   │  request: job, node, offset, length         │  to the socket if the fetcher can connect
//	   │ ───────────────────────────────────────────▶│  to it, otherwise over NATS; at most
//	   │                         status, bytes       │  window requests are unanswered
//	   │ ◀───────────────────────────────────────────│
//	   │  … the next request for each answer         │
//	   │  checksum of the whole                      │
//
// The fetcher requests each chunk, so the holder keeps no state over NATS, even if a fetch is cancelled or
// the fetcher dies. At most [Window] bytes of a fetch are in flight, which bounds the memory of the
// NATS server even if the fetcher is slow.
//
// A message over NATS is copied about nine times, and by three processes. A chunk through a socket is copied three
// times, and takes half the time or less. The sockets are in the abstract namespace of Linux: they need no folder, are gone with their
// process, and are seen in all containers with the same network namespace, such as those of a pod. Whoever connects
// must send the token first, which the holder tells only over NATS. On other systems all partials are fetched over NATS.
//
// # What can fail
//
//	the holder is on another       the fetcher cannot connect to its socket, and uses NATS
//	machine
//	a connection to the socket     the fetcher begins again over NATS
//	breaks, or stalls for 2 s
//	the holder is dead             NATS says that there are no responders: [ErrGone]
//	the holder does not have the   it says so: [ErrNotHeld]
//	partial any more
//	the holder dies half-way       the same, since the fetcher asks again after 200 ms of silence
//	a request or chunk is lost     the fetcher asks again after 2 s
//	nothing comes for 10 s         [ErrStalled]
//	the bytes are not those that   [ErrDamaged], which names both checksums
//	the leader named
//	the holder cannot read a file  it says so: [ErrUnreadable]
package bulk
