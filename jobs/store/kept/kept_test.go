package kept

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/folder"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var family = engine.NewKey([]byte("a family"))

func keyOf(i int) engine.Key { return engine.NewKey(fmt.Append(nil, i)) }

func partialOf(i int) engine.KeptPartial {
	data := sha256.Sum256(fmt.Append(nil, "partial", i))
	return engine.KeptPartial{Data: data[:1+i%32], Partitions: uint64(1 + i%5), Work: time.Duration(i) * time.Microsecond}
}

// open opens the kept partials of the test's family.
func open(t *testing.T, blobs Blobs, change ...func(*Config)) *Partials {
	t.Helper()
	cfg := Config{Blobs: blobs, Family: family, Job: "test", Version: "1", Origin: "a job"}
	for _, f := range change {
		f(&cfg)
	}
	p, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keep keeps the partials from lo to hi in one pack or several.
func keep(t *testing.T, blobs Blobs, lo, hi int, change ...func(*Config)) Stats {
	t.Helper()
	p := open(t, blobs, change...)
	for i := lo; i < hi; i++ {
		p.Keep(t.Context(), keyOf(i), partialOf(i))
	}
	p.Close(t.Context())
	return p.Stats()
}

// count reads the partials from 0 to n and returns how many there are. Each must have its bytes.
func count(t *testing.T, p *Partials, n int) (found int) {
	t.Helper()
	for i := range n {
		got, ok := p.Get(t.Context(), keyOf(i))
		if !ok {
			if p.Has(keyOf(i)) {
				t.Fatalf("partial %d could not be read, and Has still reports it", i)
			}
			continue
		}
		if want := partialOf(i); string(got.Data) != string(want.Data) || got.Partitions != want.Partitions || got.Work != want.Work {
			t.Fatalf("partial %d is %x, want %x", i, got, want)
		}
		found++
	}
	return found
}

func TestRoundTrip(t *testing.T) {
	for name, blobs := range map[string]func(t *testing.T) Blobs{
		"memory": func(*testing.T) Blobs { return memory.NewBlobs() },
		"folder": func(t *testing.T) Blobs {
			b, err := folder.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := blobs(t)
			if found := count(t, open(t, b), 100); found != 0 {
				t.Errorf("%d partials in an empty storage", found)
			}
			if s := keep(t, b, 0, 60); s.Kept != 60 || s.Failed+s.Lost > 0 {
				t.Errorf("kept %+v, want 60 partials", s)
			}
			keep(t, b, 60, 100)
			p := open(t, b)
			if found := count(t, p, 110); found != 100 {
				t.Errorf("found %d partials, want 100", found)
			}
			if s := p.Stats(); len(s.Origins) != 1 || s.Origins[0] != "a job" {
				t.Errorf("origins %q", s.Origins)
			}
			if other := open(t, b, func(c *Config) { c.Family = engine.NewKey([]byte("another")) }); other.Has(keyOf(1)) {
				t.Error("another family has the partial")
			}
			list, err := List(t.Context(), b)
			slices.SortFunc(list, func(a, b Pack) int { return int(b.Partials) - int(a.Partials) }) // both may be of one millisecond
			if err != nil || len(list) != 2 || list[0].Partials != 60 || list[0].Job != "test" || list[0].Made.IsZero() {
				t.Fatalf("list %+v, %v", list, err)
			}
			if err := Drop(t.Context(), b, list[0]); err != nil {
				t.Fatal(err)
			}
			if found := count(t, open(t, b), 100); found != 40 {
				t.Errorf("%d partials after a drop, want 40", found)
			}
			if keys, err := b.List(t.Context(), packs); err != nil || len(keys) != 1 {
				t.Errorf("packs %q, %v, want one", keys, err)
			}
		})
	}
}

// TestSlotsKeepAtOnce keeps partials from several goroutines, in several packs.
func TestSlotsKeepAtOnce(t *testing.T) {
	b := memory.NewBlobs()
	p := open(t, b)
	large := make([]byte, packBytes/10)
	var group sync.WaitGroup
	for slot := range 4 {
		group.Go(func() {
			for i := range 20 {
				p.Keep(t.Context(), keyOf(slot*100+i), engine.KeptPartial{Data: append(large, byte(slot), byte(i)), Partitions: 1, Work: time.Second})
			}
		})
	}
	group.Wait()
	p.Close(t.Context())
	again := open(t, b)
	if len(again.packs) < 5 {
		t.Errorf("%d packs, want several", len(again.packs))
	}
	for slot := range 4 {
		group.Go(func() {
			for i := range 20 {
				got, ok := again.Get(t.Context(), keyOf(slot*100+i))
				if n := len(got.Data); !ok || n != len(large)+2 || got.Data[n-2] != byte(slot) || got.Data[n-1] != byte(i) {
					t.Errorf("partial %d of slot %d: %d bytes, %v", i, slot, n, ok)
				}
			}
		})
	}
	group.Wait()
	if again.cache.bytes > cacheBytes+packBytes+len(large) {
		t.Errorf("the cache takes %d bytes", again.cache.bytes)
	}
}

// change replaces the value of the only key below a prefix.
func change(t *testing.T, b Blobs, prefix string, to func([]byte) []byte) {
	t.Helper()
	keys, err := b.List(t.Context(), prefix)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	data, _, err := b.Get(t.Context(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if data = to(data); data == nil {
		err = b.Delete(t.Context(), keys[0])
	} else {
		_, err = b.Put(t.Context(), keys[0], data, store.Always)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamage damages a pack or an index in different ways. No partial may have other bytes, and the next
// job may not be bothered again.
func TestDamage(t *testing.T) {
	flip := func(data []byte) []byte {
		data[len(data)*2/5] ^= 1
		return data
	}
	short := func(data []byte) []byte { return data[:len(data)-1] }
	for name, damage := range map[string]func(t *testing.T, b Blobs){
		"a flipped bit in the pack":  func(t *testing.T, b Blobs) { change(t, b, packs, flip) },
		"a short pack":               func(t *testing.T, b Blobs) { change(t, b, packs, short) },
		"a missing pack":             func(t *testing.T, b Blobs) { change(t, b, packs, func([]byte) []byte { return nil }) },
		"a flipped bit in the index": func(t *testing.T, b Blobs) { change(t, b, indexes, flip) },
		"a short index":              func(t *testing.T, b Blobs) { change(t, b, indexes, short) },
		"an index that is no record": func(t *testing.T, b Blobs) { change(t, b, indexes, func([]byte) []byte { return []byte("\x01hello") }) },
		"an empty index":             func(t *testing.T, b Blobs) { change(t, b, indexes, func([]byte) []byte { return []byte{} }) },
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.NewBlobs()
			keep(t, b, 0, 40)
			damage(t, b)
			p := open(t, b)
			if found := count(t, p, 40); found > 39 {
				t.Errorf("%d partials were found", found)
			}
			if s := p.Stats(); s.Lost+s.Failed == 0 {
				t.Error("the damage was not counted")
			}
			if keep(t, b, 40, 60); count(t, open(t, b), 60) < 20 {
				t.Error("the partials of a later pack were not found")
			}
			if p = open(t, b); count(t, p, 40) > 39 || p.Stats().Lost+p.Stats().Failed > 0 {
				t.Errorf("the next job found the damage again: %+v", p.Stats())
			}
		})
	}
}

// TestNewerIndex checks that the index of a later version is left alone.
func TestNewerIndex(t *testing.T) {
	b := memory.NewBlobs()
	keep(t, b, 0, 10)
	change(t, b, indexes, func(data []byte) []byte {
		data[0]++
		return data
	})
	if found := count(t, open(t, b), 10); found != 0 {
		t.Errorf("%d partials of a later version were found", found)
	}
	if keys, err := b.List(t.Context(), indexes); err != nil || len(keys) != 1 {
		t.Errorf("the index was dropped: %q, %v", keys, err)
	}
}

// TestFaults makes each call of storage fail, before or after it takes effect. A failure never gives wrong
// bytes, and never stays in the way of later jobs.
func TestFaults(t *testing.T) {
	for n := int64(1); ; n++ {
		b := memory.NewBlobs()
		var calls atomic.Int64
		b.Inject(func(memory.Call) error {
			if calls.Add(1) == n {
				return store.ErrUnavailable
			}
			return nil
		})
		old := func(c *Config) { c.Limit = 2500 } // the second pack displaces the first
		keep(t, b, 0, 40, old)
		keep(t, b, 40, 60, old)
		count(t, open(t, b), 60)
		b.Inject(nil)
		if keep(t, b, 60, 80, old); count(t, open(t, b), 80) < 20 {
			t.Fatalf("fault %d: the partials of a later job were not found", n)
		}
		if calls.Load() < n {
			if n < 20 {
				t.Fatalf("only %d calls", n)
			}
			return
		}
	}
}

// TestLimit checks that the packs that were not used for the longest time are dropped.
func TestLimit(t *testing.T) {
	b := memory.NewBlobs()
	for i := range 5 {
		keep(t, b, 10*i, 10*i+10, func(c *Config) { c.Origin = fmt.Sprint(i) })
	}
	ages := map[string]time.Duration{"0": time.Minute, "1": 5 * time.Hour, "2": time.Hour, "3": 40 * 24 * time.Hour, "4": 2 * time.Hour}
	setAges(t, b, ages)
	bytes := int64(0)
	list, err := List(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		if strings.Contains("0 2 4", one.Origin) {
			bytes += one.Bytes
		}
	}
	fresh := keep(t, b, 50, 60, func(c *Config) { c.Limit = 10 * bytes })
	for i := range 6 {
		if _, ok := open(t, b).Get(t.Context(), keyOf(10*i)); ok != (i != 3) {
			t.Errorf("pack %d: kept is %v; want only the pack older than the lifetime dropped", i, ok)
		}
	}
	setAges(t, b, ages)
	keep(t, b, 60, 61, func(c *Config) { c.Limit = bytes + fresh.Bytes + 100 })
	for i, want := range []bool{true, false, true, false, true, true} {
		if _, ok := open(t, b).Get(t.Context(), keyOf(10*i)); ok != want {
			t.Errorf("pack %d: kept is %v, want %v", i, ok, want)
		}
	}
}

// setAges sets how long ago packs were used, by the origin of the pack.
func setAges(t *testing.T, b Blobs, ages map[string]time.Duration) {
	t.Helper()
	list, err := List(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		data, _, err := b.Get(t.Context(), one.key)
		if err != nil {
			t.Fatal(err)
		}
		r, err := decodeIndex(data)
		if err != nil {
			t.Fatal(err)
		}
		r.Used = time.Now().Add(-ages[one.Origin]).Unix()
		if _, err := b.Put(t.Context(), one.key, r.encode(), store.Always); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUseDuringADrop checks that a pack that a job uses is not dropped by another job that has read the old
// index.
func TestUseDuringADrop(t *testing.T) {
	b := memory.NewBlobs()
	keep(t, b, 0, 10)
	setAges(t, b, map[string]time.Duration{"a job": 40 * 24 * time.Hour})
	list, err := List(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	user := open(t, b)
	count(t, user, 10)
	user.Close(t.Context()) // notes the use
	if err := Drop(t.Context(), b, list[0]); err != nil {
		t.Fatal(err)
	}
	if found := count(t, open(t, b), 10); found != 10 {
		t.Errorf("%d partials, want all 10 of the pack that was used", found)
	}
	keep(t, b, 10, 20)
	if found := count(t, open(t, b), 20); found != 20 {
		t.Errorf("%d partials after a sweep, want 20: the use was not noted", found)
	}
}

// TestDropDuringAUse checks that a job that has read an index survives the drop of the pack.
func TestDropDuringAUse(t *testing.T) {
	b := memory.NewBlobs()
	keep(t, b, 0, 10)
	user := open(t, b)
	list, err := List(t.Context(), b)
	if err != nil || Drop(t.Context(), b, list[0]) != nil {
		t.Fatal(err)
	}
	if found := count(t, user, 10); found != 0 || user.Stats().Lost != 1 {
		t.Errorf("%d partials of a dropped pack, %+v", found, user.Stats())
	}
	user.Close(t.Context())
	if keys, _ := b.List(t.Context(), indexes); len(keys) != 0 {
		t.Errorf("the index is there again: %q", keys)
	}
}

// TestLastSweeps checks that a job leaves the dropping to a job that has kept something later, unless a clock was wrong.
func TestLastSweeps(t *testing.T) {
	b := memory.NewBlobs()
	later := false
	b.Inject(func(call memory.Call) error {
		if call.Operation == memory.List && call.Key+"/" == indexes && !later { // the first job begins to sweep
			later = true
			for began := time.Now(); time.Now().UnixMilli() == began.UnixMilli(); { // IDs of one millisecond are in any order
			}
			keep(t, b, 10, 20)
		}
		return nil
	})
	small := func(c *Config) { c.Limit = 1 }
	keep(t, b, 0, 10, small)
	if found := count(t, open(t, b), 20); !later || found != 20 {
		t.Errorf("%d partials, want 20: the first job has dropped packs", found)
	}
	data := indexRecord{Sum: make([]byte, 32), Used: time.Now().Unix()}.encode()
	future := store.NewID(time.Now().Add(time.Hour))
	if _, err := b.Put(t.Context(), indexKey(familyName(family), future), data, store.Always); err != nil {
		t.Fatal(err)
	}
	keep(t, b, 20, 30, small)
	if found := count(t, open(t, b), 30); found != 0 {
		t.Errorf("%d partials, want none: a pack of the future keeps them", found)
	}
}

// TestOrphans checks that a pack without an index is removed when no job can be writing its index anymore.
func TestOrphans(t *testing.T) {
	b := memory.NewBlobs()
	old, young := store.NewID(time.Now().Add(-2*orphanAge)), store.NewID(time.Now())
	for _, id := range []string{old, young} {
		if _, err := b.Put(t.Context(), packs+id, []byte("x"), store.Always); err != nil {
			t.Fatal(err)
		}
	}
	keep(t, b, 0, 10)
	keys, err := b.List(t.Context(), packs)
	if err != nil || len(keys) != 2 || strings.Contains(strings.Join(keys, " "), old) {
		t.Errorf("packs %q, %v, want the young one and that with an index", keys, err)
	}
}

// TestDoneContext checks that nothing is counted as a failure because a job was cancelled.
func TestDoneContext(t *testing.T) {
	b := memory.NewBlobs()
	keep(t, b, 0, 10)
	p := open(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := p.Get(ctx, keyOf(1)); ok {
		t.Error("a partial was read")
	}
	if s := p.Stats(); s.Lost+s.Failed > 0 {
		t.Errorf("counted %+v", s)
	}
	if _, err := Open(ctx, Config{Blobs: b, Family: family}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

// TestIndexFinds compares the index with a map.
func TestIndexFinds(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 1000} {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		var r indexRecord
		want := map[prefix]uint32{}
		for i := range n {
			var p prefix
			for j := range p {
				p[j] = byte(random.IntN(256) >> (8 * random.IntN(2))) // half of the bytes are 0, so that buckets are uneven
			}
			if _, twice := want[p]; twice {
				continue
			}
			want[p] = uint32(r.Bytes)
			r.Entries = appendEntry(r.Entries, entry{prefix: p, length: uint32(i), partitions: 1})
			r.Bytes, r.Count = r.Bytes+uint64(keySize+i), r.Count+1
		}
		b := &builder{}
		if err := b.add(r); err != nil {
			t.Fatal(err)
		}
		x := b.build()
		for p, offset := range want {
			if e, ok := x.find(p); !ok || e.offset != offset {
				t.Fatalf("%d entries: %x is %+v, %v, want %d", n, p, e, ok, offset)
			}
		}
		if _, ok := x.find(prefix{255, 254, 253}); ok {
			t.Errorf("%d entries: found an entry that was not added", n)
		}
	}
}
