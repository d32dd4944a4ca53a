package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/election"
	"github.com/bellwether-compute/bellwether/election/machine"
	"github.com/bellwether-compute/bellwether/election/memlease"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFirstTerm(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.join("worker-0")
		first := c.await(1, 200*time.Millisecond)
		mustHaveCause(t, first, election.First, "")
		c.mustLeadFor(1, 10*time.Minute)
	})
}

func TestManyStartAtOnce(t *testing.T) {
	for _, n := range []int{2, 5, 100} {
		bubble(t, func(t *testing.T, c *cluster) {
			processes := c.joinAll(n)
			leader := c.await(1, 200*time.Millisecond).process
			if calls := c.storage.Calls(); calls > 10 {
				t.Errorf("%d workers made %d calls to storage before one led", n, calls)
			}
			time.Sleep(time.Second)
			before := make(map[string]int)
			for _, m := range processes {
				before[m.id] = m.callCount()
			}
			c.mustLeadFor(1, 5*time.Minute)
			for _, m := range processes {
				if made := m.callCount() - before[m.id]; m != leader && made != 0 {
					t.Errorf("%s follows, and made %d calls to storage", m.id, made)
				}
			}
		})
	}
}

// TestSlowStart runs leaders that take 250 ms to answer their first ping.
func TestSlowStart(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(5)
		c.mu.Lock()
		for _, m := range processes {
			m.slowStart = 250 * time.Millisecond
		}
		c.mu.Unlock()
		first := c.await(1, time.Second)
		c.mustLeadFor(1, time.Minute)
		first.process.kill()
		c.await(2, time.Second)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestJoinLater(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.join("worker-0")
		c.await(1, time.Second)
		time.Sleep(70 * time.Millisecond) // wait until the next beacon is not close
		late := c.join("worker-1")
		c.mustLeadFor(1, time.Minute)
		if calls := late.callCount(); calls > 1 {
			t.Errorf("the process that joined made %d calls to storage, want at most 1", calls)
		}
	})
}

func TestLeaderDies(t *testing.T) {
	for _, n := range []int{2, 4, 20, 100} {
		bubble(t, func(t *testing.T, c *cluster) {
			c.joinAll(n)
			first := c.await(1, time.Second)
			time.Sleep(10 * time.Second)
			calls := c.storage.Calls()
			died := time.Now()
			first.process.kill()
			second := c.await(2, time.Second)
			took := time.Since(died)
			if took > 150*time.Millisecond {
				t.Errorf("%d workers: takeover after %v", n, took)
			}
			mustHaveCause(t, second, election.Died, first.process.id)
			if sum := second.term.Detect + second.term.Elect; sum < took-5*latency || second.term.Detect <= 0 || second.term.Elect <= 0 {
				t.Errorf("%d workers: detect %v, elect %v; the takeover took %v", n, second.term.Detect, second.term.Elect, took)
			}
			c.mustLeadFor(2, time.Second)
			if made := c.storage.Calls() - calls; made > 12 {
				t.Errorf("%d workers: the takeover took %d calls to storage", n, made)
			}
			c.mustLeadFor(2, time.Minute)
		})
	}
}

func TestAllDie(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		for _, m := range c.joinAll(3) {
			defer m.kill()
		}
		c.await(1, time.Second)
		c.killAll()
		c.join("worker-new")
		second := c.await(2, time.Second)
		mustHaveCause(t, second, election.Died, c.history()[0].process.id)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestLeaderDiesAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(6)
		for epoch := uint64(1); epoch <= 5; epoch++ {
			r := c.await(epoch, time.Second)
			time.Sleep(20 * time.Millisecond)
			r.process.kill()
		}
		c.await(6, time.Second)
		c.mustLeadFor(6, time.Minute)
	})
}

func TestLeaderIsSuspended(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(4)
		first := c.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.process.suspend()
		begun := time.Now()
		second := c.await(2, 4*time.Second)
		if took := time.Since(begun); took < 1200*time.Millisecond {
			t.Errorf("a suspended leader was replaced after only %v", took)
		}
		mustHaveCause(t, second, election.Silent, first.process.id)
		time.Sleep(time.Minute)
		first.process.resume()
		c.mustLeadFor(2, 100*time.Millisecond)
		slept := c.history()[0]
		mustBeDeposed(t, slept)
		c.mustLeadFor(2, time.Minute)
	})
}

// TestLeaderIsSuspendedBriefly suspends a leader for less time than a takeover
// takes.
func TestLeaderIsSuspendedBriefly(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(4)
		first := c.await(1, time.Second)
		for range 5 {
			time.Sleep(10 * time.Second)
			first.process.suspend()
			time.Sleep(800 * time.Millisecond)
			first.process.resume()
		}
		c.mustLeadFor(1, time.Minute)
	})
}

// TestLoopHangs runs a leader whose process answers pings but whose loop hangs, so that only the
// missing renewals depose it.
func TestLoopHangs(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(3)
		first := c.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.process.set(func() { first.process.hangs = true })
		begun := time.Now()
		second := c.await(2, duration+time.Second)
		if took := time.Since(begun); took > duration {
			t.Errorf("it was replaced after %v", took)
		}
		ended := c.history()[0]
		mustBeDeposed(t, ended)
		if !strings.Contains(ended.cause.Error(), "hangs") {
			t.Errorf("the cause is %v", ended.cause)
		}
		if second.process == first.process && second.began.Sub(ended.ended) < time.Second {
			t.Error("the stalled process leads again at once")
		}
	})
}

func TestStorageOutage(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(3)
		c.await(1, time.Second)
		time.Sleep(10 * time.Second)
		begun := time.Now()
		for _, m := range processes {
			m.set(func() {
				m.fault = func(memlease.Call) memlease.Fault {
					if time.Since(begun) < time.Minute {
						return memlease.Fault{Delay: latency, Before: election.ErrUnavailable}
					}
					return memlease.Fault{Delay: latency}
				}
			})
		}
		time.Sleep(time.Minute - time.Millisecond)
		if n := len(c.history()); n != 1 {
			t.Fatalf("%d led while storage was out: %s", n, c)
		}
		ended := c.history()[0]
		mustBeDeposed(t, ended)
		if took := ended.ended.Sub(begun); took > window {
			t.Errorf("it led for %v without storage, want at most %v", took, window)
		}
		calls := c.storage.Calls()
		if calls > 500 {
			t.Errorf("%d calls while storage was out", calls)
		}
		c.await(2, 5*time.Second)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestShortOutageChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(3)
		first := c.await(1, time.Second)
		for _, fault := range []memlease.Fault{
			{Before: election.ErrUnavailable},
			{After: election.ErrUnavailable},
			{Delay: time.Hour},
			{Late: time.Hour},
		} {
			begun := time.Now()
			first.process.set(func() {
				first.process.fault = func(memlease.Call) memlease.Fault {
					if time.Since(begun) < 6*time.Second {
						return fault
					}
					return memlease.Fault{}
				}
			})
			c.mustLeadFor(1, time.Minute)
		}
	})
}

// hangingLease is a lease whose renewals ignore their context and hang.
type hangingLease struct {
	*memlease.Lease
	begun chan struct{}
	free  chan struct{}
}

func (l hangingLease) Renew(context.Context, election.Record) error {
	close(l.begun)
	<-l.free
	return nil
}

func TestDeadlinePassesDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		m := &process{cluster: c, id: "worker-0", events: make(chan machine.Event, 100)}
		c.processes = append(c.processes, m)
		lease := hangingLease{c.storage.Open(nil), make(chan struct{}), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		var sent, ended time.Time
		var cause error
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			err := election.Run(ctx, lease, m, election.Config{ID: m.id, Duration: duration}, func(ctx context.Context, term *election.Term) (string, error) {
				sent = time.Now() // calls of memlease without faults take no time
				deadline, ok := ctx.Deadline()
				if !ok || !deadline.Equal(sent.Add(window)) {
					t.Errorf("the deadline is %v, %v; want %v", deadline, ok, sent.Add(window))
				}
				for ctx.Err() == nil {
					term.Beat()
					select {
					case <-ctx.Done():
					case <-time.After(50 * time.Millisecond):
					}
				}
				ended, cause = time.Now(), context.Cause(ctx)
				cancel()
				close(lease.free)
				return "", nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		<-lease.begun
		<-exited
		if !ended.Equal(sent.Add(window)) || !errors.Is(cause, election.ErrDeposed) {
			t.Errorf("the term ended %v after the claim was sent, cause %v; want %v", ended.Sub(sent), cause, window)
		}
	})
}

func TestMistakenSuspicion(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(5)
		first := c.await(1, time.Second)
		time.Sleep(time.Second)
		calls := c.storage.Calls() - first.process.callCount()
		for i := range 100 {
			processes[i%5].SendSuspicion(1)
			processes[i%5].SendSuspicion(2)
			processes[i%5].SendSuspicion(0)
			time.Sleep(10 * time.Millisecond)
		}
		c.mustLeadFor(1, time.Minute)
		if made := c.storage.Calls() - first.process.callCount() - calls; made != 0 {
			t.Errorf("suspicions made followers call storage %d times", made)
		}
	})
}

func TestLeaderReconnectsLast(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(3)
		first := c.await(1, time.Second)
		time.Sleep(10 * time.Second)
		// The NATS server restarts, and the leader reconnects last.
		for _, m := range processes {
			m.disconnect()
		}
		time.Sleep(time.Second)
		for _, m := range processes {
			if m != first.process {
				m.reconnect()
			}
		}
		for range 19 { // suspicions of processes without evidence must not change anything
			for _, m := range processes {
				m.SendSuspicion(1)
			}
			time.Sleep(100 * time.Millisecond)
		}
		first.process.reconnect()
		c.mustLeadFor(1, time.Minute)

		// The NATS server restarts again, and the leader has died.
		for _, m := range processes {
			m.disconnect()
		}
		first.process.kill()
		time.Sleep(time.Second)
		for _, m := range processes {
			m.reconnect()
		}
		c.await(2, 3*time.Second)
		c.mustLeadFor(2, time.Minute)
	})
}

// TestLeaderIsCutOff cuts a leader off from its followers but not from storage.
func TestLeaderIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(4)
		first := c.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.process.set(func() { first.process.mute, first.process.disconnected = true, true })
		second := c.await(2, 4*time.Second)
		time.Sleep(5 * time.Second)
		mustBeDeposed(t, c.history()[0]) // the failed renewal deposes the leader
		if second.process == first.process {
			t.Error("the leader that was cut off took over from itself")
		}
		first.process.set(func() { first.process.mute, first.process.disconnected = false, false })
		c.mustLeadFor(2, time.Minute)
	})
}

func TestHandover(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(5)
		leader := c.await(1, time.Second).process
		for epoch := uint64(2); epoch <= 4; epoch++ {
			time.Sleep(5 * time.Second)
			next := processes[0]
			for _, m := range processes {
				if m != leader && !m.dead {
					next = m
				}
			}
			leader.set(func() { leader.successor = next.id })
			calls := c.storage.Calls()
			leader.stop()
			r := c.await(epoch, 100*time.Millisecond)
			mustHaveCause(t, r, election.Handover, leader.id)
			if r.process != next {
				t.Fatalf("%s leads, but %s was chosen", r.process.id, next.id)
			}
			all := c.history()
			if gap := r.began.Sub(all[len(all)-2].ended); gap < 0 || gap > 10*latency {
				t.Errorf("no process led for %v", gap)
			}
			if made := c.storage.Calls() - calls; made > 4 {
				t.Errorf("the handover took %d calls to storage", made)
			}
			leader = next
		}
		c.mustLeadFor(4, time.Minute)
	})
}

func TestSuccessorIsDead(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(3)
		leader := c.await(1, time.Second).process
		time.Sleep(time.Second)
		leader.set(func() { leader.successor = "worker-gone" })
		leader.stop()
		second := c.await(2, 200*time.Millisecond)
		mustHaveCause(t, second, election.Free, leader.id)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestSuccessorDiesWithTheOffer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(4)
		leader := c.await(1, time.Second).process
		next := processes[0]
		if next == leader {
			next = processes[1]
		}
		time.Sleep(time.Second)
		leader.set(func() { leader.successor = next.id })
		next.set(func() { // the claim reaches storage but is never answered
			next.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Delay: time.Hour} }
		})
		leader.stop()
		next.kill()
		c.await(2, 2*time.Second)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestStopWithoutSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(3)
		leader := c.await(1, time.Second).process
		time.Sleep(time.Second)
		leader.stop()
		if c.storage.Record().Held {
			t.Error("the lease is held after its holder stopped")
		}
		second := c.await(2, 200*time.Millisecond)
		mustHaveCause(t, second, election.Free, leader.id)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestStepDown(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(3)
		leader := c.await(1, time.Second).process
		time.Sleep(time.Second)
		leader.stepDown <- ""
		second := c.await(2, 200*time.Millisecond)
		if second.process == leader {
			t.Error("the process that stepped down leads again at once")
		}
		mustHaveCause(t, second, election.Free, leader.id)
		c.mustLeadFor(2, time.Minute)
	})
}

func TestStepDownAlone(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		alone := c.join("worker-0")
		c.await(1, time.Second)
		alone.stepDown <- ""
		time.Sleep(100 * time.Millisecond)
		alone.events <- machine.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: "worker-0", LeaseID: "x"}} // a late beacon that this process sent
		mustHaveCause(t, c.await(2, 5*time.Second), election.Free, "worker-0")
		all := c.history()
		if aside := all[1].began.Sub(all[0].ended); aside < 2*time.Second {
			t.Errorf("its cooldown lasted only %v", aside)
		}
		c.mustLeadFor(2, time.Minute)
	})
}

// TestLeadingFails runs a leading function that fails each time, in every process.
func TestLeadingFails(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		for _, m := range c.joinAll(3) {
			go func() {
				for {
					select {
					case m.fail <- errors.New("cannot lead"):
					case <-m.exited:
						return
					}
				}
			}()
		}
		c.await(1, time.Second)
		time.Sleep(5 * time.Minute)
		c.mustBeOrdered()
		if n := len(c.history()); n < 10 || n > 100 {
			t.Errorf("%d terms in 5 minutes", n)
		}
	})
}

// While no process can lead, the cluster has few terms, whatever its size. Once a process can lead,
// it leads within the longest cooldown.
func TestNoProcessCanLead(t *testing.T) {
	for _, n := range []int{3, 20} {
		bubble(t, func(t *testing.T, c *cluster) {
			processes := c.joinAll(n)
			all := func(unable bool) {
				for _, m := range processes {
					m.set(func() { m.unable = unable })
				}
			}
			all(true)
			time.Sleep(time.Minute)
			terms := len(c.history())
			if terms < 3 || terms > 10 {
				t.Errorf("%d workers had %d terms within a minute, want at most 10", n, terms)
			}
			all(false)
			c.await(uint64(terms)+1, 31*time.Second)
			c.mustLeadFor(uint64(terms)+1, time.Minute)
		})
	}
}

func TestHigherEpoch(t *testing.T) {
	for name, test := range map[string]struct {
		tell func(r leadership)
		next uint64 // epoch of the next leader
	}{
		// No process has epoch 9, so the processes follow the record in storage.
		"beacon": {func(r leadership) {
			r.process.events <- machine.BeaconHeard{Beacon: wire.Beacon{Epoch: 9, Worker: "worker-other", LeaseID: "x"}}
		}, 2},
		// Storage has a write of epoch 9, so it has lost a record with this or a higher epoch.
		"refused write": {func(r leadership) { r.term.Deposed(9) }, 10},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *cluster) {
				c.join("worker-0")
				r := c.await(1, time.Second)
				r.process.events <- machine.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: "worker-other", LeaseID: "x"}}
				r.term.Deposed(1) // the epoch is not higher than the leader's own
				c.mustLeadFor(1, time.Second)
				test.tell(r)
				synctest.Wait()
				ended := c.history()[0]
				if !ended.ended.Equal(time.Now()) {
					t.Fatalf("it still leads: %s", c)
				}
				mustBeDeposed(t, ended)
				if !strings.Contains(ended.cause.Error(), "epoch 9") {
					t.Errorf("the cause is %v", ended.cause)
				}
				c.await(test.next, 5*time.Second)
				c.mustLeadFor(test.next, time.Minute)
			})
		})
	}
}

func TestAcquireAnswerIsLost(t *testing.T) {
	for _, fault := range []memlease.Fault{{After: election.ErrUnavailable}, {Late: time.Hour}} {
		bubble(t, func(t *testing.T, c *cluster) {
			m := c.join("worker-0")
			m.set(func() {
				m.fault = func(call memlease.Call) memlease.Fault {
					if call != memlease.Acquire {
						return memlease.Fault{}
					}
					m.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{} }
					return fault
				}
			})
			c.await(1, 10*time.Second)
			c.mustLeadFor(1, time.Minute)
		})
	}
}

func TestStopBeforeLeading(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.join("worker-0")
		m.stop()
		if r := c.storage.Record(); r.Held || len(c.history()) != 0 {
			t.Errorf("record %+v, history %s", r, c)
		}
	})
}

// TestJoinWithSuspendedLeader starts a follower that has never heard the leader. The follower may
// be the process that is cut off, so it waits until the lease expires.
func TestJoinWithSuspendedLeader(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		first := c.join("worker-0")
		c.await(1, time.Second)
		first.suspend()
		begun := time.Now()
		c.join("worker-1")
		second := c.await(2, duration+5*time.Second)
		if took := time.Since(begun); took < window {
			t.Errorf("it took over after %v", took)
		}
		mustHaveCause(t, second, election.Expired, "worker-0")
		first.resume()
		c.mustLeadFor(2, time.Minute)
	})
}

// TestOfferDuringCooldown offers the lease to a process that has just stepped down.
func TestOfferDuringCooldown(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.joinAll(2)
		leader := c.await(1, time.Second).process
		leader.stepDown <- ""
		second := c.await(2, time.Second).process
		second.stepDown <- leader.id
		third := c.await(3, 100*time.Millisecond)
		mustHaveCause(t, third, election.Handover, second.id)
		if third.process != leader {
			t.Errorf("%s leads", third.process.id)
		}
		c.mustLeadFor(3, time.Minute)
	})
}

// TestStaleOffer sends an offer whose lease ID is not valid any more.
func TestStaleOffer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(3)
		c.await(1, time.Second)
		time.Sleep(time.Second)
		for _, m := range processes {
			m.events <- machine.OfferReceived{Offer: wire.Offer{Epoch: 1, LeaseID: "stale"}}
		}
		c.mustLeadFor(1, time.Minute)
	})
}

// TestBeaconsOfDeposedLeader suspends a leader while an earlier, deposed leader still sends
// beacons.
func TestBeaconsOfDeposedLeader(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(4)
		first := c.await(1, time.Second).process
		time.Sleep(time.Second)
		first.kill()
		second := c.await(2, time.Second).process
		time.Sleep(time.Second)
		second.suspend()
		deposed := machine.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: first.id, LeaseID: "x", Workers: 4}}
		for range 40 {
			for _, m := range processes {
				if !m.dead && m != second {
					m.events <- deposed
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		mustHaveCause(t, c.await(3, time.Millisecond), election.Silent, second.id)
	})
}

// TestBeaconDuringRead lets storage answer with a record that is out of date.
func TestBeaconDuringRead(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(2)
		first := c.await(1, time.Second).process
		for _, m := range processes {
			if m != first {
				first.set(func() { first.successor = m.id }) // otherwise the process that joins may claim the lease
			}
		}
		time.Sleep(time.Second)
		late := c.join("worker-late")
		late.set(func() {
			late.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Late: 550 * time.Millisecond} }
		})
		for late.callCount() == 0 && len(c.history()) == 1 {
			time.Sleep(latency)
		}
		first.stop()
		c.await(2, time.Second)
		time.Sleep(time.Second)
		if made := late.callCount(); made > 1 {
			t.Errorf("the process that joined made %d calls to storage", made)
		}
		c.mustLeadFor(2, time.Minute)
	})
}

// TestFollowersAreSuspended suspends followers while the answers to their pings
// arrive.
func TestFollowersAreSuspended(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		processes := c.joinAll(3)
		first := c.await(1, time.Second)
		for i := range 300 {
			time.Sleep(time.Duration(i)*latency/7 + time.Second)
			for _, m := range processes {
				if m != first.process {
					m.suspend()
				}
			}
			time.Sleep(5 * time.Second)
			for _, m := range processes {
				m.resume()
			}
		}
		c.mustLeadFor(1, time.Minute)
	})
}

func TestStopDuringClaim(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		m := c.join("worker-0")
		m.set(func() {
			m.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Late: 100 * time.Millisecond} }
		})
		for c.storage.Record().Epoch == 0 {
			time.Sleep(latency)
		}
		m.stop()
		if r := c.storage.Record(); r.Held || len(c.history()) != 0 {
			t.Errorf("record %+v, history %s", r, c)
		}
	})
}
