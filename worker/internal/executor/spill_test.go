package executor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
)

// spillStore keeps what jobs move to storage in memory.
type spillStore struct {
	noStore
	put      []error // errors of the next writes
	data     map[string][]byte
	manifest store.Manifest
	dropped  []string
	kept     map[string]bool
}

func (s *spillStore) PutSpill(_ context.Context, next string, data []byte) (string, error) {
	name := next + " " + jobs.File(data).SHA256()
	if len(s.put) > 0 {
		err := s.put[0]
		if s.put = s.put[1:]; err != nil {
			return name, err
		}
	}
	s.data[name] = data
	return name, nil
}

func (s *spillStore) Spill(_ context.Context, round, name string) ([]byte, error) {
	data, ok := s.data[name]
	if !ok {
		return nil, store.ErrNotFound
	}
	return slices.Concat([]byte(round+" "), data), nil
}

func (s *spillStore) Manifest(context.Context, string) (store.Manifest, store.Version, error) {
	return s.manifest, "", nil
}

func (s *spillStore) DropPartial(_ context.Context, job, blob string) error {
	s.dropped = append(s.dropped, job+" "+blob)
	return nil
}

func (s *spillStore) DropOtherPartials(_ context.Context, job string, keep map[string]bool) error {
	s.dropped, s.kept = append(s.dropped, job), keep
	return nil
}

func newSpillStore(t *testing.T) (*spillStore, *core) {
	s := &spillStore{noStore: noStore{t}, data: make(map[string][]byte)}
	return s, &core{store: s, cfg: Config{Logger: slog.New(slog.DiscardHandler)}, life: t.Context(), storageLife: t.Context(), spilled: make(map[string]bool)}
}

// What a round moves to storage is written until storage accepts it, and the next round reads it.
func TestSpill(t *testing.T) {
	s, c := newSpillStore(t)
	s.put = []error{store.ErrFull, store.ErrUnavailable}
	ctx := jobStorage{c, "j/1", t.Context()}.provide(t.Context(), true)
	name, err := jobs.PutSpill(ctx, []byte("data"))
	if err != nil || name != "j/2 "+jobs.File("data").SHA256() {
		t.Fatalf("got %s, %v", name, err)
	}
	next := jobStorage{c, "j/2", t.Context()}.provide(t.Context(), true)
	if data, err := jobs.GetSpill(next, name); err != nil || string(data) != "j/2 data" {
		t.Errorf("got %s, %v", data, err)
	}
	if _, err := jobs.GetSpill(next, "other"); !jobs.IsPermanent(err) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want that the data are lost", err)
	}
	s.put = []error{store.ErrTooLarge}
	if _, err := jobs.PutSpill(ctx, nil); !jobs.IsPermanent(err) {
		t.Errorf("got %v, want a permanent error", err)
	}
	if name, err := jobs.PutSpill(jobStorage{c, "j", t.Context()}.provide(t.Context(), true), []byte("data")); err != nil || !strings.HasPrefix(name, "j ") {
		t.Errorf("a job without rounds moves data to %s, %v", name, err)
	}
	if engine.SpillsOf(jobStorage{c, "j", t.Context()}.provide(t.Context(), false)) != nil {
		t.Error("a job that does not spill can move data to storage")
	}
}

// What is written after the end of the job is removed, by the write itself if the worker knows of the end, and otherwise
// when it hears of it. What the final manifest names stays.
func TestLateSpill(t *testing.T) {
	for _, state := range []store.State{store.Running, store.Completed} {
		s, c := newSpillStore(t)
		s.manifest = store.Manifest{State: state, Rounds: &store.Rounds{Blob: "state"}}
		ended, end := context.WithCancel(t.Context())
		if _, err := jobs.PutSpill(jobStorage{c, "j/1", ended}.provide(t.Context(), true), []byte("1")); err != nil {
			t.Fatal(err)
		}
		end()
		name, err := jobs.PutSpill(jobStorage{c, "j/1", ended}.provide(t.Context(), true), []byte("2"))
		if err != nil {
			t.Fatal(err)
		}
		c.removals.Wait()
		c.endSpills("j")
		c.endSpills("j")
		c.endSpills("other")
		c.removals.Wait()
		var want []string
		if state.Final() {
			want = []string{"j/2 " + name, "j"}
		}
		if !slices.Equal(s.dropped, want) || state.Final() && !s.kept["state"] {
			t.Errorf("the job is %s: dropped %q and kept %v, want %q", state, s.dropped, s.kept, want)
		}
	}
}
