// Package bulk moves large partials between workers over NATS. The package needs separate NATS
// connections, so that messages of the protocol never wait behind large partials.
//
//	fetcher                                       holder
//	   │  request: job, node, offset, length         │
//	   │ ───────────────────────────────────────────▶│  at most window requests
//	   │                         status, bytes       │  are unanswered
//	   │ ◀───────────────────────────────────────────│
//	   │  … the next request for each answer         │
//	   │  checksum of the whole                      │
//
// The fetcher requests each chunk, so the holder keeps no state, even if a fetch is cancelled or
// the fetcher dies. At most [Window] bytes of a fetch are in flight, which bounds the memory of the
// NATS server even if the fetcher is slow.
//
// # What can fail
//
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
