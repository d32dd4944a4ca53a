package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

// large is the size of a large value: several chunks, of which the last is smaller.
const large = 3<<19 + 4711

// TestBlobs runs the suite for Blobs. The function open returns empty storage and closes it
// when the test ends.
func TestBlobs(t *testing.T, open func(t *testing.T) store.Blobs) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, b store.Blobs)
	}{
		{"round trip", roundTrip},
		{"absent", absentKey},
		{"conditions", conditions},
		{"delete a version", deleteVersion},
		{"versions do not come back", versionsDoNotComeBack},
		{"caller keeps its bytes", callerKeepsItsBytes},
		{"keys do not collide", keysDoNotCollide},
		{"invalid keys", invalidKeys},
		{"list", list},
		{"delete prefix", deletePrefix},
		{"create race", createRace},
		{"swap race", swapRace},
		{"overwrite race", overwriteRace},
		{"read while large values change", readWhileLargeValuesChange},
		{"done context", doneContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func roundTrip(t *testing.T, b store.Blobs) {
	small, limit, big := randomBytes(1, 1000), randomBytes(2, 511<<10), randomBytes(4, large)
	values := [][]byte{{}, {0}, []byte("text"), small, big, small, limit, randomBytes(3, 513<<10), big, randomBytes(5, large), {}}
	version := put(t, b, "a/key", []byte("first"), store.IfAbsent)
	for _, value := range values {
		version = put(t, b, "a/key", value, store.IfVersion(version))
		wantValue(t, b, "a/key", value, version)
	}
	for _, value := range values {
		wantValue(t, b, "a/key", value, put(t, b, "a/key", value, store.Always))
	}
	for _, value := range values {
		must(t, b.Delete(t.Context(), "a/key"))
		wantValue(t, b, "a/key", value, put(t, b, "a/key", value, store.IfAbsent))
	}
}

func absentKey(t *testing.T, b store.Blobs) {
	wantAbsent(t, b, "none")
	must(t, b.Delete(t.Context(), "none"))
	put(t, b, "there", randomBytes(1, large), store.Always)
	for range 2 {
		must(t, b.Delete(t.Context(), "there"))
		wantAbsent(t, b, "there")
	}
	v := put(t, b, "there", []byte("again"), store.IfAbsent)
	wantValue(t, b, "there", []byte("again"), v)
}

func conditions(t *testing.T, b store.Blobs) {
	for _, size := range []int{10, large} {
		key := fmt.Sprintf("size/%d", size)
		one, two := randomBytes(1, size), randomBytes(2, size)
		v1 := put(t, b, key, one, store.IfAbsent)
		wantConflict(t, b, key, two, store.IfAbsent)
		wantConflict(t, b, key, two, store.IfVersion("0"))
		wantConflict(t, b, key, two, store.IfVersion(""))
		wantConflict(t, b, key, two, store.IfVersion("of another driver"))
		wantValue(t, b, key, one, v1)

		v2 := put(t, b, key, two, store.IfVersion(v1))
		wantConflict(t, b, key, one, store.IfVersion(v1))
		wantValue(t, b, key, two, v2)

		v3 := put(t, b, key, two, store.Always) // writing the same bytes also creates a new version
		wantConflict(t, b, key, one, store.IfVersion(v2))

		must(t, b.Delete(t.Context(), key))
		wantConflict(t, b, key, one, store.IfVersion(v3))
		wantAbsent(t, b, key)
	}
	wantConflict(t, b, "never", []byte("x"), store.IfVersion("1"))
	wantAbsent(t, b, "never")
}

func deleteVersion(t *testing.T, b store.Blobs) {
	for _, size := range []int{10, large} {
		key := fmt.Sprintf("size/%d", size)
		one, two := randomBytes(1, size), randomBytes(2, size)
		v1 := put(t, b, key, one, store.IfAbsent)
		for _, other := range []store.Version{"", "0", "of another driver"} {
			must(t, b.DeleteVersion(t.Context(), key, other))
			wantValue(t, b, key, one, v1)
		}
		v2 := put(t, b, key, two, store.Always)
		must(t, b.DeleteVersion(t.Context(), key, v1))
		wantValue(t, b, key, two, v2)
		for range 2 {
			must(t, b.DeleteVersion(t.Context(), key, v2))
			wantAbsent(t, b, key)
		}
		v3 := put(t, b, key, one, store.IfAbsent)
		must(t, b.DeleteVersion(t.Context(), key, v2))
		wantValue(t, b, key, one, v3)
		must(t, b.DeleteVersion(t.Context(), key, v3))
		wantAbsent(t, b, key)
	}
}

func versionsDoNotComeBack(t *testing.T, b store.Blobs) {
	seen := map[store.Version]bool{}
	for range 10 {
		v := put(t, b, "key", []byte("x"), store.IfAbsent)
		if seen[v] {
			t.Fatalf("version %q came back after a Delete", v)
		}
		seen[v] = true
		must(t, b.Delete(t.Context(), "key"))
	}
}

func callerKeepsItsBytes(t *testing.T, b store.Blobs) {
	for _, size := range []int{100, large} {
		want, value := randomBytes(1, size), randomBytes(1, size)
		v := put(t, b, "key", value, store.Always)
		clear(value)
		got, _, err := b.Get(t.Context(), "key")
		must(t, err)
		clear(got)
		wantValue(t, b, "key", want, v)
	}
}

func keysDoNotCollide(t *testing.T, b store.Blobs) {
	keys := []string{"a.b/c", "a/b.c", "a/b/c", "a-b/c", "a-b-c", "a.b.c", "a/b", "a", "a/b/c/d", "0/1.", "0-/1", "0/1"}
	for _, key := range keys {
		put(t, b, key, []byte(key), store.IfAbsent)
	}
	for i, key := range keys {
		got, _, err := b.Get(t.Context(), key)
		must(t, err)
		if string(got) != key {
			t.Errorf("key %q holds the value of %q", key, got)
		}
		must(t, b.Delete(t.Context(), key))
		for _, other := range keys[i+1:] {
			if _, _, err := b.Get(t.Context(), other); err != nil {
				t.Errorf("after Delete of %q, %q: %v", key, other, err)
			}
		}
	}
}

func invalidKeys(t *testing.T, b store.Blobs) {
	long := string(bytes.Repeat([]byte("k"), store.MaxKey))
	put(t, b, long, []byte("x"), store.Always)
	for _, key := range []string{"", "/", "/a", "a/", "a//b", "A", "a b", "a_b", "a*", "a/>", "../a", "a/..", ".", "é", long + "k"} {
		if _, err := b.Put(t.Context(), key, nil, store.Always); err == nil {
			t.Errorf("Put takes the key %q", key)
		}
		if _, _, err := b.Get(t.Context(), key); err == nil {
			t.Errorf("Get takes the key %q", key)
		}
		if err := b.Delete(t.Context(), key); err == nil {
			t.Errorf("Delete takes the key %q", key)
		}
		if err := b.DeleteVersion(t.Context(), key, "1"); err == nil {
			t.Errorf("DeleteVersion takes the key %q", key)
		}
	}
	for _, prefix := range []string{"", "/", "a", "*/", "a//"} {
		if _, err := b.List(t.Context(), prefix); err == nil {
			t.Errorf("List takes the prefix %q", prefix)
		}
	}
}

func list(t *testing.T, b store.Blobs) {
	wantKeys(t, b, "a/")
	for _, key := range []string{"a/b/c", "a/b.d", "a/b", "a/b-e", "ab/c", "a", "a.x/y", "b/a/x", "a/gone"} {
		put(t, b, key, []byte(key), store.Always)
	}
	must(t, b.Delete(t.Context(), "a/gone"))
	put(t, b, "a/big", randomBytes(1, large), store.Always)
	wantKeys(t, b, "a/", "a/b", "a/b-e", "a/b.d", "a/b/c", "a/big")
	wantKeys(t, b, "a/b/", "a/b/c")
	wantKeys(t, b, "b/", "b/a/x")
	wantKeys(t, b, "c/")
}

func deletePrefix(t *testing.T, b store.Blobs) {
	d, ok := b.(store.PrefixDeleter)
	if !ok {
		t.Skip("no PrefixDeleter")
	}
	must(t, d.DeletePrefix(t.Context(), "a/"))
	for _, key := range []string{"a/b", "a/b/c", "ab/c", "a", "a.b/c"} {
		put(t, b, key, randomBytes(1, large), store.Always)
	}
	must(t, d.DeletePrefix(t.Context(), "a/"))
	wantKeys(t, b, "a/")
	for _, key := range []string{"ab/c", "a", "a.b/c"} {
		got, _, err := b.Get(t.Context(), key)
		must(t, err)
		if !bytes.Equal(got, randomBytes(1, large)) {
			t.Errorf("%s has changed", key)
		}
	}
	put(t, b, "a/b", []byte("again"), store.IfAbsent)
}

// createRace creates one key from many goroutines and checks that exactly one goroutine succeeds.
func createRace(t *testing.T, b store.Blobs) {
	for round := range 5 {
		key := fmt.Sprintf("round/%d", round)
		if round > 2 {
			put(t, b, key, []byte("was there"), store.Always)
			must(t, b.Delete(t.Context(), key))
		}
		var winner atomic.Int64
		atOnce(t, 8, func(ctx context.Context, i int) error {
			_, err := b.Put(ctx, key, []byte(strconv.Itoa(i)), store.IfAbsent)
			if errors.Is(err, store.ErrConflict) {
				return nil
			}
			if err == nil && !winner.CompareAndSwap(0, int64(i+1)) {
				return fmt.Errorf("%d and %d both created %s", winner.Load()-1, i, key)
			}
			return err
		})
		got, _, err := b.Get(t.Context(), key)
		must(t, err)
		if want := strconv.FormatInt(winner.Load()-1, 10); string(got) != want {
			t.Errorf("%s created %s, stored is %q", want, key, got)
		}
	}
}

// swapRace increments a counter from many goroutines and checks that no increment is lost:
// each version has exactly one successor.
func swapRace(t *testing.T, b store.Blobs) {
	const writers, additions = 8, 10
	put(t, b, "counter", []byte("0"), store.IfAbsent)
	atOnce(t, writers, func(ctx context.Context, _ int) error {
		for added := 0; added < additions; {
			data, version, err := b.Get(ctx, "counter")
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				return err
			}
			_, err = b.Put(ctx, "counter", []byte(strconv.Itoa(n+1)), store.IfVersion(version))
			if err == nil {
				added++
			} else if !errors.Is(err, store.ErrConflict) {
				return err
			}
		}
		return nil
	})
	got, _, err := b.Get(t.Context(), "counter")
	must(t, err)
	if want := strconv.Itoa(writers * additions); string(got) != want {
		t.Errorf("counter is %s after %s additions", got, want)
	}
}

// overwriteRace overwrites a key from many goroutines. Each write must succeed, and the last value be complete.
func overwriteRace(t *testing.T, b store.Blobs) {
	values := [][]byte{randomBytes(0, 100), randomBytes(1, large), randomBytes(2, large), randomBytes(3, 100)}
	for range 3 {
		atOnce(t, len(values), func(ctx context.Context, i int) error {
			_, err := b.Put(ctx, "key", values[i], store.Always)
			return err
		})
		got, _, err := b.Get(t.Context(), "key")
		must(t, err)
		if !slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, got) }) {
			t.Errorf("stored are %d bytes that nobody wrote", len(got))
		}
	}
}

// readWhileLargeValuesChange reads values that change. Each read must be complete or return ErrNotFound.
func readWhileLargeValuesChange(t *testing.T, b store.Blobs) {
	const writes = 15
	values := [][]byte{randomBytes(0, large), randomBytes(1, 600<<10), randomBytes(2, 10)}
	put(t, b, "key", values[0], store.Always)
	var stop atomic.Bool
	atOnce(t, 3, func(ctx context.Context, i int) error {
		if i == 0 {
			defer stop.Store(true)
			for n := range writes {
				if n%5 == 4 {
					if err := b.Delete(ctx, "key"); err != nil {
						return err
					}
				}
				if _, err := b.Put(ctx, "key", values[n%3], store.Always); err != nil {
					return err
				}
			}
			return nil
		}
		for !stop.Load() {
			got, _, err := b.Get(ctx, "key")
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, got) }) {
				return fmt.Errorf("read %d bytes that nobody wrote", len(got))
			}
		}
		return nil
	})
}

func doneContext(t *testing.T, b store.Blobs) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := b.Get(ctx, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: %v", err)
	}
	if _, err := b.Put(ctx, "key", nil, store.Always); !errors.Is(err, context.Canceled) {
		t.Errorf("Put: %v", err)
	}
	if _, err := b.Put(ctx, "key", randomBytes(1, large), store.Always); !errors.Is(err, context.Canceled) {
		t.Errorf("Put of a large value: %v", err)
	}
	if err := b.Delete(ctx, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("Delete: %v", err)
	}
	if err := b.DeleteVersion(ctx, "key", put(t, b, "key", nil, store.Always)); !errors.Is(err, context.Canceled) {
		t.Errorf("DeleteVersion: %v", err)
	}
	if _, err := b.List(ctx, "key/"); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v", err)
	}
}

func put(t *testing.T, b store.Blobs, key string, value []byte, cond store.Condition) store.Version {
	t.Helper()
	v, err := b.Put(t.Context(), key, value, cond)
	if err != nil {
		t.Fatalf("Put %s: %v", key, err)
	}
	return v
}

func wantValue(t *testing.T, b store.Blobs, key string, want []byte, version store.Version) {
	t.Helper()
	got, v, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get %s: %v", key, err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("Get %s: %d bytes that are not the %d written", key, len(got), len(want))
	}
	if v != version {
		t.Errorf("Get %s: version %q, Put had returned %q", key, v, version)
	}
}

func wantAbsent(t *testing.T, b store.Blobs, key string) {
	t.Helper()
	if _, _, err := b.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get %s: %v, want ErrNotFound", key, err)
	}
}

func wantConflict(t *testing.T, b store.Blobs, key string, value []byte, cond store.Condition) {
	t.Helper()
	if _, err := b.Put(t.Context(), key, value, cond); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Put %s with %+v: %v, want ErrConflict", key, cond, err)
	}
}

func wantKeys(t *testing.T, b store.Blobs, prefix string, want ...string) {
	t.Helper()
	got, err := b.List(t.Context(), prefix)
	must(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("List %s: %q, want %q", prefix, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func atOnce(t *testing.T, n int, do func(ctx context.Context, i int) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	must(t, group.Wait())
}

// randomBytes returns the same bytes for the same seed and size.
func randomBytes(seed byte, size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // Read of a ChaCha8 generator never returns an error
	return data
}
