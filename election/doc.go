// Package election decides which process of a cluster leads.
//
// A cluster has one lease. The holder of the lease leads, under an epoch that grows by one with
// each holder and never decreases. [Run] makes one process take part in the election: the process
// follows, takes over, leads and hands over until it is told to stop. [Hold] offers the lease as a
// distributed mutex: it runs a function while the process holds the lease.
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
// If a leader knows that it has lost the lease, it neither transfers nor releases the lease.
//
// # The machine and its shell
//
// [Machine] makes all decisions. The Machine is a state machine without a clock, I/O or goroutines.
// [Run] is the shell around the machine: it feeds inputs to the machine and performs the machine's
// actions.
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
// The machine's instants are durations since the start of the process, on a monotonic clock. The
// same inputs and the same seed give the same actions, so tests run whole clusters within
// milliseconds and can replay a failure. The scripts in testdata show how a machine handles each
// possible failure.
//
//   - Each question of the machine is answered once. The answer contains the question's number. Only the answer
//     to the last question counts; the machine ignores earlier questions' answers.
//   - The machine never abandons a claim, a renewal, a transfer, an offer or a release: it always
//     waits for the answer before it asks the next question.
//   - The actions of one step are started in their order.
//   - The machine ends a term at the first step at or after the term's deadline, whatever the input
//     of that step is. The leading function's context also checks the clock, so the context ends in
//     time even without a step.
//
// # What it promises
//
//   - Each epoch has at most one leadership, by the process that acquired the lease under this
//     epoch.
//   - Leadership is a context ([LeadFunc]). The context ends when the process can no
//     longer trust its lease, even if a renewal is in flight.
//   - The lease is released or handed over only after the leading function has
//     returned.
//   - Followers make no storage calls while a leader answers pings.
//
// The package does not promise that two processes never act as leaders at the same instant. No
// lease can promise this, because a process may be suspended between checking that it leads and
// acting as the leader. Safety therefore rests on the epoch. A new leader first fences all writes
// of the old one, and every message carries the epoch. The lease only decides which process tries
// to lead, so a mistaken takeover causes a short delay and no other harm.
//
// # The trust window
//
//	renewal sent      next renewal due        deadline           lease expires
//	     ├────────────────────┼───────────────────────┼────────────────┤
//	     │◀─── RenewEvery ───▶│                       │◀─── Margin ───▶│
//	     │◀────────────────────── Duration ───────────────────────────▶│
//
// A leader trusts its lease until Duration - Margin after it sent the last successful renewal, on
// its own monotonic clock. The time at which the answer arrives does not matter. A successful
// renewal extends the deadline. A renewal that fails is retried. A renewal that finds the lease
// lost ends the term at once.
//
// A renewal that is due is sent only after the next beat of the leading loop ([Term.Beat]). So a
// leader whose loop hangs loses the lease in the same way as a leader that died.
//
// In a process that was suspended and resumed, the Err method of the leadership's context returns an error at
// once, because Err checks the clock. The context's Done channel is closed by a timer, which may fire a moment
// later. Linux's monotonic clock does not advance while the whole machine is suspended. Fencing protects
// against both cases.
//
// # Noticing that a leader is gone
//
// Followers ping the leader on a subject of its epoch. The more followers there are, the longer the
// interval between the pings of each of them, so the leader's load stays constant. Followers notice
// a dead leader in these ways, the fastest first:
//
//   - The leader chose a successor and offers it the lease: the successor claims at
//     once.
//   - No responders: NATS says that no process listens on the subject, so the leader's process is gone. The
//     follower tells the other followers, which then ping the leader too. Each follower waits for a random
//     time, checks again, and claims the lease with a claim that replaces the dead holder's lease ID. One claim
//     succeeds. The other claims are refused, and their processes hear the new leader's beacon and follow it.
//   - Silence: the leader's process lives but does not answer for [Config.SilentAfter], so it is
//     stalled or cut off. Followers then act in the same way as after "no responders".
//   - Expiry: the leader is silent and this follower has never heard from it, so the follower itself may be cut
//     off. The follower claims the lease only after the lease has expired. Without this rule, two processes
//     that cannot hear each other would depose each other for ever.
//
// With [Config.Exclusive] the lease is a mutex. Then a follower claims the lease only after an
// offer, after a release or after the lease's expiry. A holder that is cut off or suspended keeps
// the lease until it expires, so the holder's own deadline comes before the next holder's claim. A
// follower whose leader seems dead, or that is disconnected from its peers, watches the record in
// storage instead of pinging. Peers are optional: without them the election is exclusive, and
// followers always watch the record.
//
// While a process is disconnected and shortly after, a missing message is no evidence that its sender is dead
// ([Config.StableFor]). Silence during a suspension of this process is no evidence either. A new leader gets
// 300 ms to start answering pings.
//
// # What can fail, and why it is safe
//
// Failures in each state:
//
//   - Searching: a failed read is retried after a growing pause. If the record is out of date, the process
//     sends one ping in vain, or one claim that is refused.
//   - Following: a ping or its answer is lost. Only time spent waiting for an answer counts as
//     silence, and any sign of life resets the count.
//   - Confirming: the process dies or is told to stop. The process has changed nothing in storage yet.
//   - Claiming: the process dies before the answer to its claim. If its claim took effect, the record names the
//     dead process. In this case nobody answers pings under the record's epoch, and another process claims the
//     lease with a claim that replaces the record's lease ID. If the process is told to stop instead, it waits
//     for the answer and releases the lease. If another process leads under a higher epoch when the answer
//     arrives, the process does not start to lead. If the answer takes longer than the trust window, the
//     process does not start to lead either.
//   - Leading: a renewal is lost, takes too long or is refused. The term ends at its deadline in any case. The
//     lease is handed over only after the renewal's answer, so a late renewal cannot take a lease that is
//     already free.
//   - Transferring: the leader has stopped answering pings. The leader's last beacon says so, and followers
//     then wait half a second for the next leader before they ping again; if a follower missed the beacon, it
//     may take over, and the transfer fails. If the process dies in this state or the answer is lost, the lease
//     has a new ID that no other process knows. The other processes notice that no process answers pings, read
//     the new ID in the record, and claim the lease in place of this ID.
//   - Offering: the offer arrives twice, or late. A second claim that replaces the offered ID fails, because
//     the first claim has changed the lease's ID. An offer from a leader that was replaced is ignored.
//   - Releasing: the call to storage is lost. In this case another process replaces the lease ID with its
//     claim, or the lease expires. A call that arrives late contains a lease ID that the lease no longer has,
//     and fails.
//
// Failures in any state:
//
//   - The leader dies: followers notice this as described above. Until the next leader leads,
//     workers continue with the work they have.
//   - The leader is suspended: when it resumes, another process already leads. The context of the old leader
//     has ended, storage refuses its renewals and its writes, and workers refuse its messages.
//   - Storage is unavailable: the leader leads until its deadline. After that, no process leads
//     until storage is available. All processes retry with growing pauses and log the outage once.
//   - The answer to a claim is lost: the process repeats the claim, and gets the same
//     epoch if the first try took effect. If the process gives up instead, the record
//     names a leader that does not answer, and others take over.
//   - The answer to a renewal is lost: the driver recognizes its own write. If the driver cannot recognize the
//     write, the leader steps down, which is safe.
//   - A follower suspects a leader that works: the other followers ping the leader, get an answer and continue.
//     If the follower does take over, the old leader stops when it hears the new leader's beacon, when its next
//     renewal fails, or when a write is refused.
//   - The successor of a handover dies: the other processes notice that no process answers, read the record
//     once, and replace the lease ID in the record with a claim.
//   - A leading function fails repeatedly: the process's cooldown grows with each
//     failure, and other processes try to lead.
//   - A forged beacon contains an epoch that no process has: the leader stops. The processes find
//     no such leader at their next check, read the record, and trust the record again. Anyone who
//     can send messages can repeat such a beacon, so use NATS permissions to keep strangers out.
//   - A process uses another storage than the others, or two clusters with the same name share a NATS server:
//     each storage has its own lease and its own epochs. Processes ignore beacons of leaders on another storage
//     ([Config.Storage]) and log them, and a leader does not answer pings from another storage. So each storage
//     has one leader. Assume that the leader dies while a leader on another storage has the same epoch. In this
//     case pings do not fail at once but stay unanswered, and followers notice the death because the leader is
//     silent.
//   - The leading function does not return after its context has ended: the process does not renew
//     its lease and only handles events. Another process leads.
//
// # The model
//
// takeover.pml is a model of the protocol for the model checker spin: claims, renewal, release, transfer,
// fences and checkpoints, with crashes, suspensions, lost answers and late writes at any point. The header of
// the file says what the model covers and what it omits. 'make model' runs spin, which searches all executions
// within some bounds. The search is repeated with each of ten planted defects in the model, and each defect
// must be found.
//
// # Drivers
//
// [Lease] is implemented by bloblease on an Azure blob, by kvlease on a NATS
// JetStream key, and by memlease in memory for tests. Package leasetest holds the
// conformance suite for drivers. [Peers] is implemented by natspeers.
package election
