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
	"github.com/bellwether-compute/bellwether/election/memlease"
	"github.com/bellwether-compute/bellwether/jobs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFirst(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.join("worker-0")
		first := f.await(1, 200*time.Millisecond)
		mustCause(t, first, election.First, "")
		f.mustKeep(1, 10*time.Minute)
	})
}

func TestManyBeginAtOnce(t *testing.T) {
	for _, n := range []int{2, 5, 100} {
		bubble(t, func(t *testing.T, f *flock) {
			members := f.joinAll(n)
			leader := f.await(1, 200*time.Millisecond).member
			if calls := f.storage.Calls(); calls > 10 {
				t.Errorf("%d workers made %d calls to storage before one led", n, calls)
			}
			time.Sleep(time.Second)
			before := make(map[string]int)
			for _, m := range members {
				before[m.id] = m.callsMade()
			}
			f.mustKeep(1, 5*time.Minute)
			for _, m := range members {
				if made := m.callsMade() - before[m.id]; m != leader && made != 0 {
					t.Errorf("%s follows, and made %d calls to storage", m.id, made)
				}
			}
		})
	}
}

// TestBeginsSlowly has leaders that take a while to answer their first ping.
func TestBeginsSlowly(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(5)
		f.mu.Lock()
		for _, m := range members {
			m.slowStart = 250 * time.Millisecond
		}
		f.mu.Unlock()
		first := f.await(1, time.Second)
		f.mustKeep(1, time.Minute)
		first.member.kill()
		f.await(2, time.Second)
		f.mustKeep(2, time.Minute)
	})
}

func TestJoinsLater(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.join("worker-0")
		f.await(1, time.Second)
		time.Sleep(70 * time.Millisecond) // so that the next beacon is far
		late := f.join("worker-1")
		f.mustKeep(1, time.Minute)
		if calls := late.callsMade(); calls > 1 {
			t.Errorf("one that joined made %d calls to storage, want at most 1", calls)
		}
	})
}

func TestLeaderDies(t *testing.T) {
	for _, n := range []int{2, 4, 20, 100} {
		bubble(t, func(t *testing.T, f *flock) {
			f.joinAll(n)
			first := f.await(1, time.Second)
			time.Sleep(10 * time.Second)
			calls := f.storage.Calls()
			died := time.Now()
			first.member.kill()
			second := f.await(2, time.Second)
			took := time.Since(died)
			if took > 150*time.Millisecond {
				t.Errorf("%d workers: takeover after %v", n, took)
			}
			mustCause(t, second, election.Died, first.member.id)
			if sum := second.term.Detect + second.term.Elect; sum < took-5*latency || second.term.Detect <= 0 || second.term.Elect <= 0 {
				t.Errorf("%d workers: detect %v, elect %v; the takeover took %v", n, second.term.Detect, second.term.Elect, took)
			}
			f.mustKeep(2, time.Second)
			if made := f.storage.Calls() - calls; made > 12 {
				t.Errorf("%d workers: the takeover took %d calls to storage", n, made)
			}
			f.mustKeep(2, time.Minute)
		})
	}
}

func TestAllDie(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		for _, m := range f.joinAll(3) {
			defer m.kill()
		}
		f.await(1, time.Second)
		f.disband()
		f.join("worker-new")
		second := f.await(2, time.Second)
		mustCause(t, second, election.Died, f.history()[0].member.id)
		f.mustKeep(2, time.Minute)
	})
}

func TestLeaderDiesAgainAndAgain(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(6)
		for epoch := uint64(1); epoch <= 5; epoch++ {
			r := f.await(epoch, time.Second)
			time.Sleep(20 * time.Millisecond)
			r.member.kill()
		}
		f.await(6, time.Second)
		f.mustKeep(6, time.Minute)
	})
}

func TestLeaderFreezes(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(4)
		first := f.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.member.freeze()
		begun := time.Now()
		second := f.await(2, 4*time.Second)
		if took := time.Since(begun); took < 1500*time.Millisecond {
			t.Errorf("a frozen leader was replaced after only %v", took)
		}
		mustCause(t, second, election.Silent, first.member.id)
		time.Sleep(time.Minute)
		first.member.wake()
		f.mustKeep(2, 100*time.Millisecond)
		slept := f.history()[0]
		mustDeposed(t, slept)
		f.mustKeep(2, time.Minute)
	})
}

// TestFreezesBriefly shows a leader that stops for less than it takes to replace
// it.
func TestFreezesBriefly(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(4)
		first := f.await(1, time.Second)
		for range 5 {
			time.Sleep(10 * time.Second)
			first.member.freeze()
			time.Sleep(1200 * time.Millisecond)
			first.member.wake()
		}
		f.mustKeep(1, time.Minute)
	})
}

// TestLoopStandsStill has a leader whose process answers but whose loop does not
// turn, so that only the missing renewals depose it.
func TestLoopStandsStill(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(3)
		first := f.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.member.set(func() { first.member.deaf = true })
		begun := time.Now()
		second := f.await(2, duration+time.Second)
		if took := time.Since(begun); took > duration {
			t.Errorf("it was replaced after %v", took)
		}
		ended := f.history()[0]
		mustDeposed(t, ended)
		if !strings.Contains(ended.cause.Error(), "stands still") {
			t.Errorf("the cause is %v", ended.cause)
		}
		if second.member == first.member && second.began.Sub(ended.ended) < time.Second {
			t.Error("the stalled one leads again at once")
		}
	})
}

func TestStorageOutage(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(3)
		f.await(1, time.Second)
		time.Sleep(10 * time.Second)
		begun := time.Now()
		for _, m := range members {
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
		if n := len(f.history()); n != 1 {
			t.Fatalf("%d led while storage was out: %s", n, f)
		}
		ended := f.history()[0]
		mustDeposed(t, ended)
		if took := ended.ended.Sub(begun); took > window {
			t.Errorf("it led for %v without storage, want at most %v", took, window)
		}
		calls := f.storage.Calls()
		if calls > 500 {
			t.Errorf("%d calls while storage was out", calls)
		}
		f.await(2, 5*time.Second)
		f.mustKeep(2, time.Minute)
	})
}

func TestShortOutageChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(3)
		first := f.await(1, time.Second)
		for _, fault := range []memlease.Fault{
			{Before: election.ErrUnavailable},
			{After: election.ErrUnavailable},
			{Delay: time.Hour},
			{Late: time.Hour},
		} {
			begun := time.Now()
			first.member.set(func() {
				first.member.fault = func(memlease.Call) memlease.Fault {
					if time.Since(begun) < 6*time.Second {
						return fault
					}
					return memlease.Fault{}
				}
			})
			f.mustKeep(1, time.Minute)
		}
	})
}

// stubborn is a lease whose renewals hang whatever their context says.
type stubborn struct {
	*memlease.Lease
	begun chan struct{}
	free  chan struct{}
}

func (l stubborn) Renew(context.Context, election.Record) error {
	close(l.begun)
	<-l.free
	return nil
}

func TestTrustEndsWithRenewalInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlock(t)
		m := &member{flock: f, id: "worker-0", events: make(chan election.Event, 100)}
		f.members = append(f.members, m)
		lease := stubborn{f.storage.Open(nil), make(chan struct{}), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		var sent, ended time.Time
		var cause error
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			err := election.Run(ctx, lease, m, election.Config{ID: m.id, Duration: duration}, func(ctx context.Context, term *election.Term) (string, error) {
				sent = time.Now() // the fake's calls take no time
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
			t.Errorf("trust ended %v after the claim was sent, for %v; want %v", ended.Sub(sent), cause, window)
		}
	})
}

func TestMistakenSuspicion(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(5)
		first := f.await(1, time.Second)
		time.Sleep(time.Second)
		calls := f.storage.Calls() - first.member.callsMade()
		for i := range 100 {
			members[i%5].SendSuspicion(1)
			members[i%5].SendSuspicion(2)
			members[i%5].SendSuspicion(0)
			time.Sleep(10 * time.Millisecond)
		}
		f.mustKeep(1, time.Minute)
		if made := f.storage.Calls() - first.member.callsMade() - calls; made != 0 {
			t.Errorf("suspicions made followers call storage %d times", made)
		}
	})
}

func TestReconnectedHearsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(3)
		first := f.await(1, time.Second)
		time.Sleep(10 * time.Second)
		// The NATS server restarts, and the leader is back last.
		for _, m := range members {
			m.unlink()
		}
		time.Sleep(time.Second)
		for _, m := range members {
			if m != first.member {
				m.relink()
			}
		}
		for range 19 { // they cannot tell one another more than they know
			for _, m := range members {
				m.SendSuspicion(1)
			}
			time.Sleep(100 * time.Millisecond)
		}
		first.member.relink()
		f.mustKeep(1, time.Minute)

		// And now it is not back.
		for _, m := range members {
			m.unlink()
		}
		first.member.kill()
		time.Sleep(time.Second)
		for _, m := range members {
			m.relink()
		}
		f.await(2, 3*time.Second)
		f.mustKeep(2, time.Minute)
	})
}

// TestCutOff has a leader that reaches storage and none of its followers.
func TestCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(4)
		first := f.await(1, time.Second)
		time.Sleep(10 * time.Second)
		first.member.set(func() { first.member.mute, first.member.unlinked = true, true })
		second := f.await(2, 4*time.Second)
		time.Sleep(5 * time.Second)
		mustDeposed(t, f.history()[0]) // by its next renewal
		if second.member == first.member {
			t.Error("the one cut off took over from itself")
		}
		first.member.set(func() { first.member.mute, first.member.unlinked = false, false })
		f.mustKeep(2, time.Minute)
	})
}

func TestHandover(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(5)
		leader := f.await(1, time.Second).member
		for epoch := uint64(2); epoch <= 4; epoch++ {
			time.Sleep(5 * time.Second)
			next := members[0]
			for _, m := range members {
				if m != leader && !m.dead {
					next = m
				}
			}
			leader.set(func() { leader.successor = next.id })
			calls := f.storage.Calls()
			leader.stop()
			r := f.await(epoch, 100*time.Millisecond)
			mustCause(t, r, election.Handover, leader.id)
			if r.member != next {
				t.Fatalf("%s leads, and %s was chosen", r.member.id, next.id)
			}
			all := f.history()
			if gap := r.began.Sub(all[len(all)-2].ended); gap < 0 || gap > 10*latency {
				t.Errorf("nobody led for %v", gap)
			}
			if made := f.storage.Calls() - calls; made > 4 {
				t.Errorf("the handover took %d calls to storage", made)
			}
			leader = next
		}
		f.mustKeep(4, time.Minute)
	})
}

func TestSuccessorIsDead(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(3)
		leader := f.await(1, time.Second).member
		time.Sleep(time.Second)
		leader.set(func() { leader.successor = "worker-gone" })
		leader.stop()
		second := f.await(2, 200*time.Millisecond)
		mustCause(t, second, election.Free, leader.id)
		f.mustKeep(2, time.Minute)
	})
}

func TestSuccessorDiesWithTheOffer(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(4)
		leader := f.await(1, time.Second).member
		next := members[0]
		if next == leader {
			next = members[1]
		}
		time.Sleep(time.Second)
		leader.set(func() { leader.successor = next.id })
		next.set(func() { // it gets as far as asking storage
			next.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Delay: time.Hour} }
		})
		leader.stop()
		next.kill()
		f.await(2, 2*time.Second)
		f.mustKeep(2, time.Minute)
	})
}

func TestStopWithoutSuccessor(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(3)
		leader := f.await(1, time.Second).member
		time.Sleep(time.Second)
		leader.stop()
		if f.storage.Record().Held {
			t.Error("the lease is held after its holder stopped")
		}
		second := f.await(2, 200*time.Millisecond)
		mustCause(t, second, election.Free, leader.id)
		f.mustKeep(2, time.Minute)
	})
}

func TestStepDown(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(3)
		leader := f.await(1, time.Second).member
		time.Sleep(time.Second)
		leader.stepUp <- ""
		second := f.await(2, 200*time.Millisecond)
		if second.member == leader {
			t.Error("the one that stepped down leads again")
		}
		mustCause(t, second, election.Free, leader.id)
		f.mustKeep(2, time.Minute)
	})
}

func TestStepDownAlone(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		alone := f.join("worker-0")
		f.await(1, time.Second)
		alone.stepUp <- ""
		time.Sleep(100 * time.Millisecond)
		alone.events <- election.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: "worker-0", LeaseID: "x"}} // a late one of its own
		mustCause(t, f.await(2, 5*time.Second), election.Free, "worker-0")
		all := f.history()
		if aside := all[1].began.Sub(all[0].ended); aside < 2*time.Second {
			t.Errorf("it stood aside for only %v", aside)
		}
		f.mustKeep(2, time.Minute)
	})
}

// TestLeadingFails has a leading function that fails each time, everywhere.
func TestLeadingFails(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		for _, m := range f.joinAll(3) {
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
		f.await(1, time.Second)
		time.Sleep(5 * time.Minute)
		f.mustBeOrdered()
		if n := len(f.history()); n < 10 || n > 100 {
			t.Errorf("%d terms in 5 minutes", n)
		}
	})
}

func TestHigherEpoch(t *testing.T) {
	for name, tell := range map[string]func(r reign){
		"in a beacon": func(r reign) {
			r.member.events <- election.BeaconHeard{Beacon: wire.Beacon{Epoch: 9, Worker: "worker-other", LeaseID: "x"}}
		},
		"in a refused write": func(r reign) { r.term.Deposed(9) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, f *flock) {
				f.join("worker-0")
				r := f.await(1, time.Second)
				r.member.events <- election.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: "worker-other", LeaseID: "x"}}
				r.term.Deposed(1) // no news
				f.mustKeep(1, time.Second)
				tell(r)
				synctest.Wait()
				ended := f.history()[0]
				if !ended.ended.Equal(time.Now()) {
					t.Fatalf("it leads on: %s", f)
				}
				mustDeposed(t, ended)
				if !strings.Contains(ended.cause.Error(), "epoch 9") {
					t.Errorf("the cause is %v", ended.cause)
				}
				// Nobody has that epoch: storage knows better than what was heard.
				f.await(2, 5*time.Second)
				f.mustKeep(2, time.Minute)
			})
		})
	}
}

func TestAcquireLosesItsAnswer(t *testing.T) {
	for _, fault := range []memlease.Fault{{After: election.ErrUnavailable}, {Late: time.Hour}} {
		bubble(t, func(t *testing.T, f *flock) {
			m := f.join("worker-0")
			m.set(func() {
				m.fault = func(call memlease.Call) memlease.Fault {
					if call != memlease.Acquire {
						return memlease.Fault{}
					}
					m.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{} }
					return fault
				}
			})
			f.await(1, 10*time.Second)
			f.mustKeep(1, time.Minute)
		})
	}
}

func TestStoppedBeforeItLeads(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		m := f.join("worker-0")
		m.stop()
		if r := f.storage.Record(); r.Held || len(f.history()) != 0 {
			t.Errorf("record %+v, history %s", r, f)
		}
	})
}

// TestJoinsFrozenLeader has nobody who ever heard the leader: it may be the one
// that joined who is cut off, so the lease is waited out.
func TestJoinsFrozenLeader(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		first := f.join("worker-0")
		f.await(1, time.Second)
		first.freeze()
		begun := time.Now()
		f.join("worker-1")
		second := f.await(2, duration+5*time.Second)
		if took := time.Since(begun); took < window {
			t.Errorf("it took over after %v", took)
		}
		mustCause(t, second, election.Expired, "worker-0")
		first.wake()
		f.mustKeep(2, time.Minute)
	})
}

// TestOfferedWhileAside has one that stepped down being asked to lead again.
func TestOfferedWhileAside(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(2)
		leader := f.await(1, time.Second).member
		leader.stepUp <- ""
		second := f.await(2, time.Second).member
		second.stepUp <- leader.id
		third := f.await(3, 100*time.Millisecond)
		mustCause(t, third, election.Handover, second.id)
		if third.member != leader {
			t.Errorf("%s leads", third.member.id)
		}
		f.mustKeep(3, time.Minute)
	})
}

// TestStaleOffer has an offer that comes when its lease ID is worth nothing.
func TestStaleOffer(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(3)
		f.await(1, time.Second)
		time.Sleep(time.Second)
		for _, m := range members {
			m.events <- election.OfferReceived{Offer: wire.Offer{Epoch: 1, LeaseID: "stale"}}
		}
		f.mustKeep(1, time.Minute)
	})
}

// TestBeaconsOfTheDeposed has a leader that freezes while one deposed long ago
// still says that it leads.
func TestBeaconsOfTheDeposed(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(4)
		first := f.await(1, time.Second).member
		time.Sleep(time.Second)
		first.kill()
		second := f.await(2, time.Second).member
		time.Sleep(time.Second)
		second.freeze()
		deposed := election.BeaconHeard{Beacon: wire.Beacon{Epoch: 1, Worker: first.id, LeaseID: "x", Workers: 4}}
		for range 40 {
			for _, m := range members {
				if !m.dead && m != second {
					m.events <- deposed
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		mustCause(t, f.await(3, time.Millisecond), election.Silent, second.id)
	})
}

// TestHearsABeaconWhileItReads has storage answer with what has been overtaken.
func TestHearsABeaconWhileItReads(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		f.joinAll(2)
		first := f.await(1, time.Second).member
		time.Sleep(time.Second)
		late := f.join("worker-late")
		late.set(func() {
			late.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Late: 550 * time.Millisecond} }
		})
		for late.callsMade() == 0 && len(f.history()) == 1 {
			time.Sleep(latency)
		}
		first.stop()
		f.await(2, time.Second)
		time.Sleep(time.Second)
		if made := late.callsMade(); made > 1 {
			t.Errorf("one that joined made %d calls to storage", made)
		}
		f.mustKeep(2, time.Minute)
	})
}

// TestFollowersFreeze has followers that sleep through the answers to their
// pings.
func TestFollowersFreeze(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		members := f.joinAll(3)
		first := f.await(1, time.Second)
		for i := range 300 {
			time.Sleep(time.Duration(i)*latency/7 + time.Second)
			for _, m := range members {
				if m != first.member {
					m.freeze()
				}
			}
			time.Sleep(5 * time.Second)
			for _, m := range members {
				m.wake()
			}
		}
		f.mustKeep(1, time.Minute)
	})
}

func TestStoppedWhileItClaims(t *testing.T) {
	bubble(t, func(t *testing.T, f *flock) {
		m := f.join("worker-0")
		m.set(func() {
			m.fault = func(memlease.Call) memlease.Fault { return memlease.Fault{Late: 100 * time.Millisecond} }
		})
		for f.storage.Record().Epoch == 0 {
			time.Sleep(latency)
		}
		m.stop()
		if r := f.storage.Record(); r.Held || len(f.history()) != 0 {
			t.Errorf("record %+v, history %s", r, f)
		}
	})
}
