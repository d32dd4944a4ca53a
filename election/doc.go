// Package election decides which of a cluster's processes leads.
//
// There is one lease per cluster. Who holds it leads, under an epoch that grows
// by one with each holder and never goes back. [Run] is a process's part: it
// follows, takes over, leads and hands over, until it is told to stop.
//
//	              beacon heard, or record says "held"
//	┌───────────┐ ──────────────────────────────▶ ┌───────────┐
//	│ searching │                                 │ following │──┐ ping answered,
//	│           │ ◀── claim refused ───────────── │           │◀─┘ beacon heard
//	└───────────┘                │                └───────────┘
//	      │                      │                      │ no responders, silence
//	      │                      │                      ▼
//	      │                      │                ┌────────────┐ a sign of life, a new
//	      │                      │                │ confirming │ leader: ▶ following
//	      │                      │                └────────────┘
//	      │                 ┌──────────┐                │ still none, after a
//	      └── lease free ─▶ │ claiming │ ◀──────────────┘ random moment
//	                        └──────────┘ ◀── offer, in any state above
//	                             │ acquired
//	                             ▼
//	                        ┌─────────┐  told to stop, stepped down: the function returns
//	                        │ leading │  deposed: the context ends, the function returns
//	                        └─────────┘
//	                             │ returned, and no renewal is under way
//	          successor named    ▼    none, or deposed
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
//	             following or searching, and for a while no claiming
//
// A leader that knows that the lease is somebody else's passes nothing on.
//
// # The machine and its shell
//
// What decides is [Machine], a state machine without a clock, without I/O and
// without goroutines. [Run] is the shell around it:
//
//	             Step(now, Input) []Action
//	           ┌───────────────────────────┐
//	events ──▶ │                           │ ──▶ Ping, Offer, Suspect      to Peers
//	answers ─▶ │          Machine          │ ──▶ Read, Acquire, Renew,
//	Tick ────▶ │                           │     Transfer, Release         to Lease
//	Beat, ───▶ │  Due(): when a Tick is    │ ──▶ Lead, SetDeadline, EndTerm,
//	Deposed,   │  wanted at the latest     │     AwaitBeat, StopLeading    to LeadFunc
//	Returned   │                           │
//	Stop ────▶ │                           │ ──▶ Done
//	           └───────────────────────────┘
//
// Instants are durations since the process started, on its monotonic clock. The
// same inputs and the same seed give the same actions, so that whole clusters run
// in a test within milliseconds, and a failure can be replayed. The scripts in
// testdata show, for each thing that can fail, what a machine does about it.
//
//   - Each question is answered once. Answers carry its number, and only the last
//     question's is of interest: one that comes after the machine has turned to
//     something else changes nothing.
//   - A claim, a renewal and what passes the lease on are seen through: no other
//     question comes before their answer, whatever is heard meanwhile.
//   - Actions of one step are begun in their order.
//   - The machine ends trust at its deadline at the first step at or after it, of
//     whatever input. The leading function's context looks at the clock as well,
//     and needs no step.
//
// # What it promises
//
//   - Each epoch is led at most once, by the process that acquired it.
//   - Leading is a context ([LeadFunc]). It ends when trust in the lease ends, even
//     with a renewal in flight.
//   - Returned before released: the lease is freed or handed over only after the
//     leading function has returned.
//   - Followers make no storage calls while a leader answers.
//
// It does not promise that no two processes ever act as leaders in the same
// instant. No lease can: a process may stop between asking whether it leads and
// acting on it. What must not go wrong therefore rests on the epoch. A new leader
// first fences what the old one could still write, and every message carries the
// epoch. The lease only decides who tries, so that a mistaken takeover costs a
// moment and harms nothing.
//
// # The trust window
//
//	renewal sent      next renewal due          trust ends      storage lets go
//	     ├────────────────────┼───────────────────────┼────────────────┤
//	     │◀─── RenewEvery ───▶│                       │◀─── Margin ───▶│
//	     │◀────────────────────── Duration ───────────────────────────▶│
//
// Trust is counted from when a renewal was sent, not from its answer, on the
// process's own monotonic clock. A renewal that is answered extends trust; one
// that fails is tried again; one that finds the lease somebody else's ends trust
// at once.
//
// A renewal is sent only after a beat of the leading loop ([Term.Beat]) that comes
// after the renewal fell due. A loop that stands still is deposed like a process
// that died.
//
// A process that was stopped and goes on finds its context's Err non-nil at once,
// because Err looks at the clock. Its Done channel is closed by a timer, which
// may fire a moment later; and Linux's monotonic clock stands still while the
// whole machine is suspended. Fencing covers both.
//
// # Noticing that a leader is gone
//
// Followers ping the leader on a subject of its epoch, so rarely that it gets
// about the same number of pings whatever their number. From soonest to latest:
//
//   - The leader chose a successor and offers it the lease: it claims at once.
//   - No responders. NATS says that nobody listens on the subject: the process is
//     gone. The follower tells the others, who look for themselves. Each waits a
//     random moment, looks again, and claims the lease over the dead holder's lease
//     ID. One claim succeeds; the others find the lease held, hear the new leader's
//     beacon and follow.
//   - Silence. The process lives and does not answer for [Config.SilentAfter]: it
//     is stalled or cut off. The same, later.
//   - Expiry. The leader is silent and this follower never heard it, so it may be
//     this follower that is cut off: it claims only once the lease has expired.
//     Otherwise two that cannot hear each other would depose one another for ever.
//
// What a process does not hear while it is disconnected, or just after, is no
// evidence ([Config.StableFor]), and neither is the time during which it slept.
// A leader that has just begun has a moment to start answering.
//
// # What can fail, and why it is safe
//
// At each step:
//
//   - Searching: a read that fails is tried again after a growing pause. A record
//     that was overtaken costs a ping or a claim that is refused.
//   - Following: a ping or its answer is lost. Silence counts only as long as it is
//     waited for, and ends with any sign of life.
//   - Confirming: the process dies, or is told to stop. It has asked for nothing.
//   - Claiming: the process dies before the answer. The record may name it; nobody
//     answers under that epoch, so others claim over that lease ID. If it is told
//     to stop instead, it waits for the answer and frees what it got. If somebody
//     leads a higher epoch by the time the answer comes, it does not begin to lead.
//     If the answer takes so long that trust is over, it leads no instant.
//   - Leading: a renewal is lost, late or refused. Trust ends at its deadline
//     whatever becomes of it. The lease is passed on only when it is answered, so
//     that it cannot renew what is free by then.
//   - Transferring: the lease has a new ID that nobody was told, if the process dies
//     here or the answer is lost. Others find that nobody answers, read the ID in
//     the record, and claim over it.
//   - Offering: the offer comes twice, or late. A second claim over its ID fails: the
//     lease has the claimant's. The offer of a leader that was replaced is ignored.
//   - Releasing: it is lost. The lease is claimed over, or expires. If it arrives
//     late, it names a lease ID that the lease does not have any more.
//
// And over all:
//
//   - The leader dies: see above. Nobody leads meanwhile; workers go on with what
//     they hold.
//   - It is stopped and continued: others lead by then. Its context has ended, its
//     renewal fails, its writes are fenced, its messages are refused.
//   - Storage is out: the leader leads until trust ends, then nobody does. All try
//     again with growing pauses, and say so once.
//   - The answer to a claim is lost: the same claim is tried again, and gets the
//     same epoch if it did succeed. If the process gives up instead, the record
//     names a leader that does not answer, and others take over.
//   - The answer to a renewal is lost: drivers recognize their own write. If not,
//     the leader steps down, which is safe.
//   - A follower suspects a leader that is well: the others ping it, are answered,
//     and go on. If the follower does take over, the old leader hears the new one's
//     beacon and stops at once; or its next renewal fails, or a write is refused.
//   - The successor of a handover dies: the others find that nobody answers, read
//     the record once, and claim over the lease ID in it.
//   - A leading function fails each time: the process stands aside, longer with each
//     failure, and others try.
//   - A beacon of an epoch nobody has is heard: the leader stops, and all believe
//     the record again at their next look. Who can send messages can do that as
//     often as they like: NATS' permissions keep strangers out.
//   - The leading function does not return though its context has ended: this
//     process hears what happens and does nothing about it, and its lease is not
//     renewed. Others lead.
//
// # The model
//
// takeover.pml is a model of all this for spin: claims, renewal, release, transfer,
// fence, checkpoint, with crashes, stalls, lost answers and late writes anywhere. It
// says what it covers and what it leaves out; 'make model' has spin try all that can
// happen within some bounds, and then with each of ten defects, which it must find.
//
// # Drivers
//
// [Lease] is implemented by bloblease on an Azure blob, by kvlease on a NATS
// JetStream key, and by memlease for tests. The cases in leasetest are what any
// driver is held to. [Peers] is implemented by natspeers.
package election
