// Package election decides which process of a cluster leads.
//
// A cluster has one lease for its leadership. The holder of the lease leads, under an epoch that
// grows by one with each holder and never decreases. [Run] makes one process take part in the
// election: the process follows, takes over, leads and hands over until it is told to stop. [Hold]
// offers the lease as a distributed mutex: it runs a function while the process holds the lease.
//
//	        Run, Hold: follow, lead, hand over
//	┌──────────────────────────────────────────────────┐
//	│ election: clock, goroutines, the term's context  │ ──▶ LeadFunc, with a Term
//	├──────────────────────────────────────────────────┤
//	│ machine: all decisions                           │
//	└──────────────────────────────────────────────────┘
//	    │ Lease                            │ Peers
//	    ▼                                  ▼
//	bloblease, kvlease, memlease       natspeers
//
// The state machine in package machine makes all decisions. Package election is the shell around
// the machine: it measures time, calls the lease and the peers, and runs the leading function.
//
// # What it promises
//
//   - Each epoch has at most one leadership, by the process that acquired the lease under the
//     epoch.
//   - Leadership is a context ([LeadFunc]). The leadership's context ends when the process can no
//     longer trust its lease, even if a renewal is in flight.
//   - The lease is released or handed over only after the leading function has
//     returned.
//   - Followers make no storage calls while a leader answers pings.
//
// The package does not promise that two processes never act as leaders at the same instant. No
// lease can exclude two simultaneous leaders, because a process may be suspended between checking
// that it leads and acting as the leader. Safety therefore rests on the epoch. A new leader first
// fences all writes of the old leader, and every message carries the epoch. The lease only decides
// which process tries to lead, so a mistaken takeover causes only a short delay.
//
// # The trust window
//
//	renewal sent      next renewal due        deadline           lease expires
//	     ├────────────────────┼───────────────────────┼────────────────┤
//	     │◀─── RenewEvery ───▶│                       │◀─── Margin ───▶│
//	     │◀────────────────────── Duration ───────────────────────────▶│
//
// A leader trusts its lease until Duration - Margin after it sent the last successful renewal, on
// its own monotonic clock. The trust window does not depend on the time at which the renewal's
// answer arrives. A successful renewal extends the deadline. A renewal that fails is retried. A
// renewal that finds the lease lost ends the term at once.
//
// A renewal that is due is sent only after the next beat of the leading loop ([Term.Beat]). A
// leader whose loop hangs therefore loses the lease like a leader that died.
//
// After a suspension of the process, the Err method of the leadership's context returns an error at
// once, because it checks the clock. A timer closes the Done channel of the leadership's context,
// possibly a moment later. Linux's monotonic clock does not advance while the whole machine is
// suspended. Fencing protects storage from the writes of a leader that was suspended.
//
// # Noticing that a leader is gone
//
// Followers ping the leader on a subject that contains the leader's epoch. The interval between a
// follower's pings grows with the number of followers, so the leader's load stays constant.
// Followers notice a dead leader in the following ways, the fastest first:
//
//   - The leader chose a successor and offers it the lease: the successor claims at
//     once.
//   - No responders: NATS reports that no process listens on the subject, so the leader's process
//     is gone. The follower that got "no responders" tells the other followers, pings again, and then
//     claims the lease in place of the dead holder's lease ID. The others ping the leader too, wait for a
//     random time, and then do the same if they have not heard of a new leader. Only one claim of the
//     followers succeeds. The refused followers follow the new leader when they hear its beacon.
//   - Silence: the leader's process is alive but has not answered for as long as Config.SilentAfter says, so it
//     is stalled or cut off. Followers treat a silent leader like a leader without responders.
//   - Expiry: the leader is silent and this follower has never heard from it, so the follower
//     itself may be cut off. A follower that has never heard from its leader claims the lease only
//     after the lease has expired. Without the rule of expiry, two processes that cannot hear each
//     other would depose each other repeatedly.
//
// With Config.Exclusive the lease is a mutex. With Exclusive, a follower claims the lease only
// after an offer, after a release or after the lease's expiry. With Exclusive, a holder that is cut
// off or suspended keeps the lease until it expires, so its own deadline comes before the next
// holder's claim. A follower whose leader seems dead, or that is disconnected from its peers, polls
// the record in storage instead of pinging. Peers are optional: without them the election is
// exclusive, and followers always watch the record.
//
// While a process is disconnected and shortly after, a missing message is no evidence that its
// sender is dead (Config.StableFor). Silence during a suspension of the follower's own process is
// no evidence either. A new leader gets 300 ms to start answering pings.
//
// # What can fail, and why it is safe
//
// Package machine lists the failures that belong to one state of a process. The following failures
// can happen in any state:
//
//   - The leader dies: followers notice the death as described above. Workers continue with their
//     assigned work until the next leader leads.
//   - The leader is suspended: when it resumes, another process already leads. The context of the
//     suspended leader has ended, storage refuses its renewals and its writes, and workers refuse
//     its messages.
//   - Storage is unavailable: the leader leads until its deadline. After the leader's deadline, no
//     process leads until storage is available. All processes retry calls to storage with growing
//     pauses and log the outage once.
//   - The answer to a claim is lost: the process repeats the claim, and gets the same epoch if the
//     first try took effect. If the process gives up the claim, the record names a leader that does
//     not answer, and others take over.
//   - The answer to a renewal is lost: the driver recognizes its own write. If the driver cannot
//     recognize its write, the leader steps down, which is safe.
//   - A follower suspects a live leader: the other followers ping the leader, get an answer and
//     continue. If a follower replaces a live leader, the old leader stops when it hears the new
//     leader's beacon, or when a renewal or a write is refused.
//   - The successor of a handover dies: the other processes notice that no process answers, read
//     the record once, and replace the lease ID in the record with a claim.
//   - A leading function fails: the process releases the lease, and does not lead during a cooldown,
//     even if it is offered the lease. Another process leads at once. If terms of the cluster fail
//     in a row, all processes wait longer after each of them, up to 30 s.
//   - A beacon with a forged epoch arrives: the leader stops. The processes find no leader under
//     the forged epoch at their next check, read the record, and follow the record again. NATS
//     permissions must keep strangers out, because anyone who can send messages can repeat a forged
//     beacon.
//   - A process uses another storage than the others, or two clusters with the same name share a
//     NATS server: each storage has its own lease and its own epochs. Processes ignore and log
//     beacons of leaders on another storage (Config.Storage), and a leader does not answer pings
//     from another storage. Each storage therefore has one leader. Pings to a dead leader do not
//     fail at once if a leader on another storage has the same epoch. Followers then notice the
//     death because the leader is silent.
//   - The leading function does not return after its context has ended: the process does not renew
//     its lease and only handles events. Another process leads while the leading function hangs.
//
// # The model
//
// takeover.pml is a model of the protocol for the model checker spin: claims, renewal, release,
// transfer, fences and checkpoints, with crashes, suspensions, lost answers and late writes at any
// point. The header of takeover.pml says what the model covers and what it omits. 'make model' runs
// spin, which searches all executions within some bounds. spin must also find each of ten defects
// that are planted in the model.
//
// # Drivers
//
// [Lease] is implemented by bloblease on an Azure blob, by kvlease on a NATS
// JetStream key, and by memlease in memory for tests. Package leasetest holds the
// conformance suite for drivers. [Peers] is implemented by natspeers.
package election
