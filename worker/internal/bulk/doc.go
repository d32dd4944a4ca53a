// Package bulk moves large partials between workers over NATS, on connections that carry
// nothing else, so that control messages never wait behind them.
//
//	fetcher                                       holder
//	   │  request: job, node, offset, length         │
//	   │ ───────────────────────────────────────────▶│  at most window requests
//	   │                         status, bytes       │  are unanswered
//	   │ ◀───────────────────────────────────────────│
//	   │  … the next request for each answer         │
//	   │  checksum of the whole                      │
//
// The fetcher asks for each chunk, so the holder keeps no state: a fetch that is cancelled
// or whose fetcher dies just stops. At most [Window] bytes of a fetch are on the way, which
// bounds the memory of the NATS server, however slow the fetcher is.
//
// # What can fail
//
//	the holder is dead             NATS says that there are no responders: [ErrGone]
//	the holder does not have the   it says so: [ErrNotHeld]
//	partial any more
//	a request or chunk is lost     the fetcher asks again after 2 s
//	nothing comes for 10 s         [ErrStalled]
//	the bytes are not those that   [ErrDamaged], which names both checksums
//	the leader named
//	the holder cannot read a file  it says so: [ErrUnreadable]
package bulk
