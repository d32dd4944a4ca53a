package reign_test

import (
	"context"
	"fmt"
	"testing"
)

// A job that has ended is removed at any moment of a storage call of its leader,
// which then goes on or dies. Nothing of the job comes back.
func TestRemoveAtEveryMoment(t *testing.T) {
	params := []string{"partitions=5", "pad=100_000"}
	s := newStage(t)
	s.hold = func(int) func() bool { return nil }
	s.run(params, func() bool { return false })
	removed := 0
	for moment := 1; moment <= s.moments; moment++ {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/dies=%v", moment, dies), func(t *testing.T) {
				s := newStage(t)
				held, over := s.holdAt(moment)
				job := s.run(params, func() bool { return *held })
				if !s.manifest(job).State.Final() {
					return
				}
				removed++
				s.remove(job)
				if dies {
					s.leaders[0].kill()
					s.lead(plain)
				}
				*over = true
				s.until("all to be gone", s.empty)
				s.pass(2 * hideFor)
				if !s.empty() || s.leaders[len(s.leaders)-1].over {
					t.Error("something came back, or the leader is gone")
				}
			})
		}
	}
	if removed < 10 {
		t.Errorf("the job had ended at %d moments", removed)
	}
}

// A job may be cancelled before its submission is received, and then removed.
func TestSubmissionOfRemovedJob(t *testing.T) {
	s := newStage(t)
	job := s.submit("partitions=5")
	s.remove(job)
	leader := s.lead(plain)
	s.until("all to be gone", s.empty)
	if leader.over {
		t.Error("the leader is gone")
	}
	s.hire("w1").follow(leader)
	s.wantCompleted(s.submit("partitions=5"), alone(t, "partitions=5"))
}

func (s *stage) remove(job string) {
	s.t.Helper()
	if err := s.store.Remove(context.Background(), job); err != nil {
		s.t.Fatal(err)
	}
}

// empty reports whether there is nothing of any job.
func (s *stage) empty() bool {
	s.t.Helper()
	for _, kind := range []string{"spec/", "plan/", "manifest/", "partial/", "result/", "active/"} {
		keys, err := s.blobs.List(context.Background(), kind)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(keys) > 0 {
			return false
		}
	}
	return len(s.queue.messages) == 0
}
