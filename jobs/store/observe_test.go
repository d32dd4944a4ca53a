package store_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

// TestObserver checks the calls that an observer gets. CallNames and CallOutcomes must contain
// their names and outcomes.
func TestObserver(t *testing.T) {
	var calls []store.Call
	s := store.New(store.Config{Blobs: memory.NewBlobs(), Queue: memory.NewQueue(hideFor), Observe: func(c store.Call) { calls = append(calls, c) }})
	spec := newSpec()
	must(t, s.Submit(t.Context(), spec))
	submission, err := s.Receive(t.Context())
	must(t, err)
	must(t, submission.Extend(t.Context()))
	must(t, submission.Delete(t.Context()))
	_, _, err = s.Manifest(t.Context(), spec.ID)
	want(t, err, store.ErrNotFound)
	_, err = s.PutManifest(t.Context(), spec.ID, store.Manifest{State: store.Queued}, store.IfVersion("another"))
	want(t, err, store.ErrConflict)
	must(t, s.DropPartials(t.Context(), spec.ID))

	var got []string
	for _, c := range calls {
		got = append(got, c.Name+" "+c.Kind+" "+c.Outcome())
		if !slices.Contains(store.CallNames, c.Name) || !slices.Contains(store.CallOutcomes, c.Outcome()) {
			t.Errorf("%s, %s is not listed", c.Name, c.Outcome())
		}
	}
	expected := []string{
		"put spec ok", "send  ok", "receive  ok", "extend  ok", "acknowledge  ok",
		"get manifest absent", "put manifest conflict", "list partial ok",
	}
	if !slices.Equal(got, expected) {
		t.Errorf("told of %q, want %q", got, expected)
	}
	if bytes := calls[0].Bytes; bytes == 0 {
		t.Error("a spec has no bytes")
	}
	if o := (store.Call{Err: errors.New("other")}).Outcome(); o != "error" {
		t.Errorf("an error that is none of the store's is %q", o)
	}
}
