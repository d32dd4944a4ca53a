// Package election decides which process of a cluster leads.
//
// A cluster has one lease. Its holder leads, under an epoch that grows by one with
// each holder and never goes back. [Run] takes part for one process: it follows,
// takes over, leads and hands over until it is told to stop. [Hold] offers the lease as
// a distributed mutex: it runs a function while the process holds the lease.
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
// # The machine and its shell
//
// [Machine] makes all decisions. It is a state machine without a clock, I/O or
// goroutines. [Run] is the shell around the machine: it feeds inputs to the machine
// and performs the machine's actions.
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
// Instants are durations since the process started, on its monotonic clock. The
// same inputs and the same seed give the same actions, so tests run whole clusters
// within milliseconds and can replay a failure. The scripts in testdata show how a
// machine handles each possible failure.
//
//   - Each question is answered once. The answer carries the question's number. Only
//     the answer to the last question counts; the machine ignores other answers.
//   - The machine never abandons a claim, a renewal, a transfer, an offer or a release:
//     whatever it hears, it waits for the answer before it asks the next question.
//   - The actions of one step are started in their order.
//   - The machine ends a term at the first step, of any input, at or after the
//     term's deadline. The leading function's context also checks the clock, so the
//     context ends in time even without a step.
//
// # What it promises
//
//   - Each epoch is led at most once, by the process that acquired it.
//   - Leadership is a context ([LeadFunc]). The context ends when the process can no
//     longer trust its lease, even if a renewal is in flight.
//   - The lease is released or handed over only after the leading function has
//     returned.
//   - Followers make no storage calls while a leader answers pings.
//
// The package does not promise that two processes never act as leaders at the same
// instant. No lease can promise exclusion: a process may be suspended after it has
// checked that it leads and before it acts. Safety therefore rests on the epoch. A new
// leader first fences all writes of the old one, and every message carries the epoch.
// The lease only decides which process tries, so a mistaken takeover costs a moment and
// does no harm.
//
// # The trust window
//
//	renewal sent      next renewal due        deadline           lease expires
//	     ├────────────────────┼───────────────────────┼────────────────┤
//	     │◀─── RenewEvery ───▶│                       │◀─── Margin ───▶│
//	     │◀────────────────────── Duration ───────────────────────────▶│
//
// A leader trusts its lease until Duration - Margin after it sent the last successful
// renewal, on its own monotonic clock. The time at which the renewal's answer arrives
// does not count. A successful renewal extends the deadline. A renewal that fails is
// retried. A renewal that finds the lease lost ends the term at once.
//
// Once a renewal is due, it is sent after the next beat of the leading loop
// ([Term.Beat]). So a leader whose loop hangs loses the lease like a process that
// died.
//
// In a process that was suspended and resumed, the context's Err returns an error
// at once, because Err checks the clock. Its Done channel is closed by a timer,
// which may fire a moment later. Linux's monotonic clock does not advance while the
// whole machine is suspended. Fencing covers both cases.
//
// # Noticing that a leader is gone
//
// Followers ping the leader on a subject of its epoch. The more followers there
// are, the more rarely each of them pings, so the leader's load stays constant.
// Followers notice a dead leader in these ways, the fastest first:
//
//   - The leader chose a successor and offers it the lease: the successor claims at
//     once.
//   - No responders: NATS says that no process listens on the subject, so the leader's
//     process is gone. The follower tells the other followers, which also ping. Each
//     follower waits a random moment, checks again, and claims the lease over the dead
//     holder's lease ID. One claim succeeds. The other claimants find the lease held,
//     hear the new leader's beacon and follow.
//   - Silence: the leader's process lives but does not answer for [Config.SilentAfter],
//     so it is stalled or cut off. Followers then act as above.
//   - Expiry: the leader is silent and this follower never heard it, so the follower
//     itself may be cut off. The follower claims the lease only after the lease has
//     expired. Otherwise two processes that cannot hear each other would depose each
//     other for ever.
//
// With [Config.Exclusive] the lease is a mutex. Then only an offer, a release and the
// lease's expiry let a follower claim: a holder that is cut off or suspended keeps
// the lease until it expires, so the holder's own deadline comes first. A follower
// whose leader seems dead, or that is disconnected from its peers, watches the record
// in storage instead of pinging. Peers are optional: without them the election is
// exclusive, and followers always watch the record.
//
// A message that is missing while the process is disconnected, or shortly after, is
// no evidence that the sender is dead ([Config.StableFor]). Silence during a
// suspension of this process is no evidence either. A new leader gets 300 ms to start
// answering pings.
//
// # What can fail, and why it is safe
//
// Failures in each state:
//
//   - Searching: a failed read is retried after a growing pause. A record that is
//     already out of date costs one ping, or one claim that is refused.
//   - Following: a ping or its answer is lost. Only time spent waiting for an answer
//     counts as silence, and any sign of life resets it.
//   - Confirming: the process dies or is told to stop. Nothing has changed yet.
//   - Claiming: the process dies before the answer. If the record names the dead
//     process, no process answers pings under the record's epoch, and others claim over
//     the record's lease ID. If the process is told to stop instead, it waits for the
//     answer and releases the lease. If another process leads a higher epoch by the
//     time of the answer, the process does not start to lead. If the answer takes
//     longer than the trust window, the term ends before it begins.
//   - Leading: a renewal is lost, late or refused. The term ends at its deadline in
//     any case. The lease is handed over only after the renewal's answer, so a late
//     renewal cannot take a lease that is already free.
//   - Transferring: if the process dies here or the answer is lost, the lease has a new
//     ID that no other process knows. The others find that no process answers, read the
//     ID in the record, and claim over that ID.
//   - Offering: the offer comes twice, or late. A second claim over the offered ID
//     fails, because the lease has the first claimant's ID. An offer from a leader that
//     was replaced is ignored.
//   - Releasing: the call is lost. Another process claims over the lease ID, or the
//     lease expires. A call that arrives late names a lease ID that the lease no longer
//     has, and fails.
//
// Failures in any state:
//
//   - The leader dies: followers notice it as described above. Until the next one
//     leads, workers continue with the work they have.
//   - The leader is suspended and resumed: another process leads by then. The old
//     leader's context has ended, its renewal fails, its writes are fenced, and its
//     messages are refused.
//   - Storage is unavailable: the leader leads until its deadline, then no process
//     leads. All processes retry with growing pauses and log the outage once.
//   - The answer to a claim is lost: the process repeats the claim, and gets the same
//     epoch if the first try took effect. If the process gives up instead, the record
//     names a leader that does not answer, and others take over.
//   - The answer to a renewal is lost: the driver recognizes its own write. If it
//     cannot, the leader steps down, which is safe.
//   - A follower suspects a leader that works: the others ping it, get an answer and
//     continue. If the follower does take over, the old leader stops when it hears the
//     new leader's beacon, when its next renewal fails, or when a write is refused.
//   - The successor of a handover dies: the others find that no process answers, read
//     the record once, and claim over the lease ID in the record.
//   - A leading function fails repeatedly: the process's cooldown grows with each
//     failure, and other processes try to lead.
//   - A beacon carries an epoch that no process has: the leader stops. At their next
//     check all processes believe the record again. Anyone who can send messages can
//     repeat such a beacon; NATS permissions keep strangers out.
//   - A process uses another storage than the others, or two clusters of one name share
//     a NATS: each storage has its own lease and its own epochs. Processes ignore
//     beacons of leaders on another storage ([Config.Storage]) and log them, and a
//     leader does not answer pings from another storage. So each storage has one leader.
//     If the leader dies while one on another storage has the same epoch, pings are
//     unanswered instead of failing at once, and followers notice by silence.
//   - The leading function does not return after its context has ended: the process
//     only handles events and does not renew its lease. Another process leads.
//
// # The model
//
// takeover.pml is a model of the protocol for the model checker spin: claims,
// renewal, release, transfer, fences and checkpoints, with crashes, suspensions,
// lost answers and late writes at any point. Its header says what it covers and what
// it omits. 'make model' has spin search all executions within some bounds. It then
// repeats the search with each of ten defects, and spin must find each defect.
//
// # Drivers
//
// [Lease] is implemented by bloblease on an Azure blob, by kvlease on a NATS
// JetStream key, and by memlease in memory for tests. Package leasetest holds the
// conformance suite for drivers. [Peers] is implemented by natspeers.
package election
