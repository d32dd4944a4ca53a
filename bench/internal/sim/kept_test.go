package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/kept"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// keptStorage is a storage of kept partials that loses calls and answers, executes writes late or twice, and returns
// damaged bytes. The real package kept runs on goroutines, so the simulated clusters do not contain it.
type keptStorage struct {
	*memory.Blobs
	mu     sync.Mutex
	rng    rng
	faults bool
	late   []func() // writes that storage executes later
	broken string   // the first broken promise
}

var errKeptFault = fmt.Errorf("%w: a fault of the simulation", store.ErrUnavailable)

// call executes a call of storage, or does what a fault makes of it. The writes of a call may be executed again.
func (s *keptStorage) call(writes bool, do func() error) error {
	s.mu.Lock()
	fault := 0.0
	if s.faults {
		fault = s.rng.Float64()
	}
	s.mu.Unlock()
	later := func() {
		s.mu.Lock()
		s.late = append(s.late, func() { _ = do() }) // whoever made the call has had its answer
		s.mu.Unlock()
	}
	switch {
	case fault > 0.96: // the call is lost
		return errKeptFault
	case fault > 0.92: // the answer is lost
		_ = do()
		return errKeptFault
	case fault > 0.88 && writes: // the call is late
		later()
		return errKeptFault
	case fault > 0.80 && writes: // the call arrives twice
		later()
	}
	return do()
}

// catchUp executes the late writes.
func (s *keptStorage) catchUp() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, do := range late {
		do()
	}
}

func (s *keptStorage) Get(ctx context.Context, key string) (data []byte, version store.Version, err error) {
	err = s.call(false, func() (err error) {
		data, version, err = s.Blobs.Get(ctx, key)
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults && len(data) > 0 && s.rng.chance(0.1) {
		data = bytes.Clone(data)
		data[s.rng.IntN(len(data))] ^= 1 << s.rng.IntN(8)
	}
	return data, version, err
}

func (s *keptStorage) Put(ctx context.Context, key string, value []byte, cond store.Condition) (version store.Version, err error) {
	value, ctx = bytes.Clone(value), context.WithoutCancel(ctx)
	err = s.call(true, func() (err error) {
		version, err = s.Blobs.Put(ctx, key, value, cond)
		return err
	})
	return version, err
}

// Delete must not remove an index that can be read: another job may have noted a use in it.
func (s *keptStorage) Delete(ctx context.Context, key string) error {
	if packs, err := kept.List(ctx, s.Blobs); err == nil && strings.HasPrefix(key, "kept/") {
		for _, p := range packs {
			if strings.HasSuffix(key, p.ID) {
				s.mu.Lock()
				s.broken = "an index was deleted although another job may use it: " + key
				s.mu.Unlock()
			}
		}
	}
	return s.call(true, func() error { return s.Blobs.Delete(context.WithoutCancel(ctx), key) })
}

func (s *keptStorage) DeleteVersion(ctx context.Context, key string, v store.Version) error {
	return s.call(true, func() error { return s.Blobs.DeleteVersion(context.WithoutCancel(ctx), key, v) })
}

func (s *keptStorage) List(ctx context.Context, prefix string) (keys []string, err error) {
	err = s.call(false, func() (err error) {
		keys, err = s.Blobs.List(ctx, prefix)
		return err
	})
	return keys, err
}

type textParams struct {
	Style string `json:"style"`
}

// texts is a job that joins words, which stand for the objects of an input.
type texts struct {
	words  []string
	style  string
	mapped *atomic.Uint64
}

func (m texts) Map(_ context.Context, partition uint64) (string, error) {
	for began := time.Now(); time.Since(began) < 20*time.Microsecond; { // otherwise the partial would not be worth its bytes
	}
	m.mapped.Add(1)
	return m.style + m.words[partition], nil
}

func (m texts) Key(_ context.Context, partition uint64) []byte { return []byte(m.words[partition]) }

func textJob(words *[]string, mapped *atomic.Uint64) jobs.Job {
	return jobs.MustNew(jobs.Definition[textParams, string, string]{
		Name: "texts", Version: "1", Summary: "joins words",
		Plan: func(context.Context, textParams) (jobs.Plan, error) {
			return jobs.Plan{Partitions: uint64(len(*words))}, nil
		},
		Open: func(_ context.Context, p textParams, _ jobs.Plan) (jobs.Mapper[string], error) {
			return texts{*words, p.Style, mapped}, nil
		},
		Merge:  func(left, right string) (string, error) { return "(" + left + right + ")", nil },
		Finish: func(_ context.Context, _ textParams, root string) (string, error) { return root, nil },
	})
}

// keptRun is a run of jobs that reuse partials, on one faulty storage.
type keptRun struct {
	storage *keptStorage
	words   []string
	mapped  atomic.Uint64
	job     jobs.Job
}

// reuse runs the job, and returns an error if its result differs from that of a run without kept partials.
func (r *keptRun) reuse(ctx context.Context, style string) error {
	params, err := r.job.Params(nil, "style="+style)
	if err != nil {
		return err
	}
	want, err := jobs.Local{Slots: 1, Attempts: 1}.Run(ctx, r.job, params)
	if err != nil {
		return err
	}
	family, err := r.job.Family(params, "a build")
	if err != nil {
		return err
	}
	list, err := kept.Open(ctx, kept.Config{Blobs: r.storage, Family: family, Origin: "a job", Limit: 4 << 10})
	if err != nil {
		return err
	}
	r.mapped.Store(0)
	got, err := jobs.Local{Slots: 2, Attempts: 1, Reuse: jobs.Reuse{Family: family, Kept: list}}.Run(ctx, r.job, params)
	if err != nil {
		return fmt.Errorf("the job failed: %w", err)
	}
	list.Close(ctx)
	if string(got.Result) != string(want.Result) {
		return fmt.Errorf("the result is %s, want %s", got.Result, want.Result)
	}
	return nil
}

// runKept simulates jobs that reuse partials with a seed. It returns the first broken promise.
func runKept(ctx context.Context, seed uint64) error {
	c := newRNG(seed)
	r := &keptRun{storage: &keptStorage{Blobs: memory.NewBlobs(), rng: newRNG(^seed)}}
	r.job = textJob(&r.words, &r.mapped)
	for i := range c.intBetween(3, 30) {
		r.words = append(r.words, fmt.Sprint("w", i))
	}
	if err := r.reuse(ctx, "a"); err != nil {
		return err
	}
	r.words = slices.Insert(slices.Clone(r.words), c.IntN(len(r.words)), "new")
	if err := r.reuse(ctx, "a"); err != nil {
		return err
	}
	if n := r.mapped.Load(); n != 1 {
		return fmt.Errorf("%d partitions were computed after an insertion of one", n)
	}
	r.storage.faults = true
	for range 8 {
		if at := c.IntN(len(r.words)); c.chance(0.5) {
			r.words = slices.Insert(slices.Clone(r.words), at, fmt.Sprint("x", c.IntN(5)))
		}
		if packs, err := kept.List(ctx, r.storage); err == nil && len(packs) > 0 && c.chance(0.3) {
			_ = kept.Drop(ctx, r.storage, packs[c.IntN(len(packs))]) // a fault is no broken promise
		}
		style := []string{"a", "b"}[c.IntN(2)]
		var other error
		var group sync.WaitGroup
		if c.chance(0.3) { // two jobs at once
			twin := &keptRun{storage: r.storage, words: r.words}
			twin.job = textJob(&twin.words, &twin.mapped)
			group.Go(func() { other = twin.reuse(ctx, style) })
		}
		err := r.reuse(ctx, style)
		group.Wait()
		if c.chance(0.5) {
			r.storage.catchUp()
		}
		if err = errors.Join(err, other); err != nil {
			return err
		}
		if r.storage.broken != "" {
			return errors.New(r.storage.broken)
		}
	}
	return nil
}

// TestKeptPartials runs jobs that reuse partials while storage loses calls, executes writes late and twice, and damages
// bytes, and while partials are dropped. No result may differ, and no job may fail.
func TestKeptPartials(t *testing.T) {
	for seed := *first; seed < *first+*seeds; seed++ {
		if err := runKept(t.Context(), seed); err != nil {
			t.Fatalf("seed %d breaks a promise: %v", seed, err)
		}
	}
}
