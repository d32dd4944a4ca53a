// Package machine decides when one process of an election follows, campaigns, leads and hands over.
// [Machine] is a state machine without a clock, I/O or goroutines. Package election is the shell
// around the machine: it feeds inputs to the machine and performs the machine's actions.
//
// Programs use package election. Package machine is for simulators, which drive the machine with a
// simulated network and storage, and for implementations of election.Peers, which send an [Event]
// for each message.
//
//	             Step(now, Input) []Action
//	           ┌───────────────────────────┐
//	events ──▶ │                           │ ──▶ Ping, Offer,              to Peers
//	answers ─▶ │                           │     SendSuspicion
//	Tick ────▶ │          Machine          │ ──▶ Read, Acquire, Renew,     to Lease
//	Beat, ───▶ │                           │     Transfer, Release
//	Deposed,   │  Due(): when it needs     │ ──▶ Lead, SetDeadline,        to LeadFunc
//	Returned   │  a Tick at the latest     │     EndTerm, AwaitBeat,
//	Stop ────▶ │                           │     StopLeading
//	           └───────────────────────────┘ ──▶ Done
//
// The machine's times are durations since the start of the process, on a monotonic clock. The same
// inputs and the same seed give the same actions, so tests run whole clusters within milliseconds
// and can replay a failure. The scripts in testdata show how a machine handles each possible
// failure.
//
//   - Each question of the machine is answered once. An answer contains its question's number. Only
//     the answer to the last question counts; the machine ignores answers to earlier questions.
//   - The machine never abandons a claim, a renewal, a transfer, an offer or a release: it always
//     waits for the answer before it asks the next question.
//   - The actions of one step are started in their order.
//   - The machine ends a term at the first step at or after the term's deadline, whatever the input
//     of the step is. The leading function's context also checks the clock, so it ends in time even
//     without a step.
//
// # States
//
//	              beacon heard, or record says "held"
//	┌───────────┐ ──────────────────────────────▶ ┌───────────┐
//	│ searching │                                 │ following │──┐ ping answered,
//	│           │ ◀── claim refused ───────────── │           │◀─┘ beacon heard
//	└───────────┘                │                └───────────┘
//	      │                      │                      │ no responders, silence
//	      │                      │                      ▼
//	      │                      │                ┌────────────┐ sign of life, new
//	      │                      │                │ confirming │ leader: ▶ following
//	      │                      │                └────────────┘
//	      │                 ┌──────────┐                │ still dead after a
//	      └── lease free ─▶ │ claiming │ ◀──────────────┘ random moment
//	                        └──────────┘ ◀── offer, in any state above
//	                             │ acquired
//	                             ▼
//	                        ┌─────────┐  told to stop, stepped down: the function returns
//	                        │ leading │  deposed: the context ends, the function returns
//	                        └─────────┘
//	                             │ returned, and no renewal is in flight
//	          successor named    ▼    no successor, or deposed
//	          ┌──────────────────┴───────────────┐
//	          ▼                                  ▼
//	  ┌──────────────┐ failed             ┌───────────┐
//	  │ transferring │ ─────────────────▶ │ releasing │
//	  └──────────────┘             ┌────▶ └───────────┘
//	          ▼             failed │             │
//	    ┌──────────┐ ──────────────┘             │
//	    │ offering │                             │
//	    └──────────┘                             │
//	          └───────────────┬──────────────────┘
//	                          ▼
//	             following or searching, without claiming during the cooldown
//
// A leader that knows that it has lost the lease neither transfers nor releases it.
//
// # What can fail, and why it is safe
//
// The documentation of package election lists the failures that can happen in any state. The
// following failures belong to one state each:
//
//   - Searching: a failed read is retried after a growing pause. If the record is out of date, the
//     process wastes one ping, or one claim that is refused.
//   - Following: a ping or its answer is lost. Only time spent waiting for an answer counts as
//     silence, and any sign of life resets this time.
//   - Confirming: the process dies or is told to stop. A process that dies while confirming has
//     changed nothing in storage.
//   - Claiming: the process dies before the answer to its claim. If the dead process's claim took
//     effect, the record names the dead process. Nobody then answers pings under the record's
//     epoch, and another process claims the lease in place of the record's lease ID. A process that
//     is told to stop while claiming waits for the answer and releases the lease. If another
//     process already leads under a higher epoch when the answer arrives, the process does not
//     start to lead. A process whose answer takes longer than the trust window does not start to
//     lead either.
//   - Leading: a renewal is lost, takes too long or is refused. If no renewal succeeds, the term
//     ends at its deadline. The lease is handed over only after the renewal's answer, so a late
//     renewal cannot take a lease that is already free.
//   - Transferring: the leader has stopped answering pings. The leader's last beacon announces its
//     end, and followers then wait half a second for the next leader; if a follower missed the
//     beacon, it may take over, and the transfer fails. If the process dies while transferring, or
//     the answer is lost, the lease has a new ID that no other process knows. The other processes
//     then notice that no process answers pings, read the new ID in the record, and claim the lease
//     in place of it.
//   - Offering: the offer arrives twice, or late. A second claim that replaces the offered ID
//     fails, because the first claim has changed the lease's ID. An offer from a leader that was
//     replaced is ignored.
//   - Releasing: the call to storage is lost. If the release is lost, another process replaces the
//     lease ID with its claim, or the lease expires. A release that arrives late contains an old
//     lease ID, and fails.
package machine
