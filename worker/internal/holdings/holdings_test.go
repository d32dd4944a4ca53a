package holdings_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bellwether-compute/bellwether/deploy/local/logtest"
	"github.com/bellwether-compute/bellwether/jobs/engine"
	"github.com/bellwether-compute/bellwether/jobs/wire"
	"github.com/bellwether-compute/bellwether/worker/internal/holdings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg holdings.Config) (*holdings.Holdings, *logtest.Log) {
	t.Helper()
	log := new(logtest.Log)
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	h, err := holdings.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h, log
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not happen: %s", what)
		}
	}
}

func put(h *holdings.Holdings, node engine.Node, data []byte, reuse bool) {
	h.Put("j", node, data, wire.Checksum(data), reuse)
}

func data(i, size int) []byte { return bytes.Repeat([]byte{byte(i)}, size) }

func TestSpill(t *testing.T) {
	dir := t.TempDir()
	h, _ := start(t, holdings.Config{Limit: 1000, Dir: dir})
	for i := range 10 {
		put(h, engine.Leaf(uint64(i)), data(i, 300), true)
	}
	eventually(t, "eight partials are spilled", func() bool { // there is space for one more partial
		return h.Stats() == holdings.Stats{Held: 600, Used: 600, Spilled: 2400, Spills: 8}
	})
	for i := range 10 {
		got, own, done, err := h.Read("j", engine.Leaf(uint64(i)))
		if err != nil || !bytes.Equal(got, data(i, 300)) || own != (i < 8) {
			t.Fatalf("partial %d: %v, own: %v", i, err, own)
		}
		done()
		part := make([]byte, 50)
		if err = h.ReadAt("j", engine.Leaf(uint64(i)), part, 100); err != nil || !bytes.Equal(part, data(i, 50)) {
			t.Errorf("part of partial %d: %v", i, err)
		}
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("files with names: %v", left)
	}
	h.Drop("j", engine.Leaf(0))
	if _, _, _, err := h.Read("j", engine.Leaf(0)); !errors.Is(err, holdings.ErrNotHeld) {
		t.Errorf("a dropped partial: %v", err)
	}
	for _, offset := range []int64{299, math.MaxInt64} {
		if err := h.ReadAt("j", engine.Leaf(1), make([]byte, 2), offset); !errors.Is(err, holdings.ErrRange) {
			t.Errorf("read past the end of a partial: %v", err)
		}
	}
	h.DropJob("j")
	if s := h.Stats(); s.Used+s.Spilled != 0 {
		t.Errorf("%d bytes in memory and %d spilled", s.Used, s.Spilled)
	}
}

// TestKeep keeps the oldest partial in memory while others are moved to files.
// inFile reports whether a partial of 300 bytes is in a file.
func inFile(h *holdings.Holdings, partition uint64) bool {
	size, inFile := h.Size("j", engine.Leaf(partition))
	return size == 300 && inFile
}

func TestKeep(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000, Dir: t.TempDir()})
	put(h, engine.Leaf(0), data(0, 300), false)
	release, ok := h.Keep("j", engine.Leaf(0))
	if !ok {
		t.Fatal("the partial is not in memory")
	}
	put(h, engine.Leaf(1), data(1, 300), false)
	put(h, engine.Leaf(2), data(2, 300), false)
	eventually(t, "the oldest partial that may be moved is in a file", func() bool { return inFile(h, 1) && !h.Short() })
	h.Use(700)
	eventually(t, "the next partial is in a file", func() bool { return inFile(h, 2) })
	if inFile(h, 0) || !h.Short() {
		t.Error("a kept partial was moved to a file")
	}
	if _, ok := h.Keep("j", engine.Leaf(1)); ok {
		t.Error("kept a partial that is in a file")
	}
	release()
	eventually(t, "the released partial is in a file", func() bool { return inFile(h, 0) })
}

// TestKeepEndsSpill keeps a partial while it is being moved to a file.
func TestKeepEndsSpill(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1, Dir: t.TempDir()})
	kept := 0
	for i := range uint64(20) {
		put(h, engine.Leaf(i), make([]byte, 64<<20), false)
		release, ok := h.Keep("j", engine.Leaf(i))
		if _, took := h.Take("j", engine.Leaf(i)); took != ok {
			t.Errorf("kept: %v, took: %v", ok, took)
		}
		if ok {
			kept++
			release()
		}
		h.Drop("j", engine.Leaf(i))
	}
	if kept == 0 {
		t.Error("no partial was kept")
	}
	if s := h.Stats(); s.Used+s.Spilled != 0 {
		t.Errorf("%d bytes in memory and %d in files after all partials were dropped, want 0", s.Used, s.Spilled)
	}
}

// TestReadCounts checks that the bytes of a dropped partial count against the limit until the last read
// ends.
func TestReadCounts(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000, Dir: t.TempDir()})
	used := func() int64 { return h.Stats().Used }
	put(h, engine.Leaf(0), data(0, 300), true)
	_, _, done, err := h.Read("j", engine.Leaf(0))
	if err != nil {
		t.Fatal(err)
	}
	h.Drop("j", engine.Leaf(0))
	if used() != 300 {
		t.Errorf("%d bytes count against the limit during the read, want 300", used())
	}
	done()
	if used() != 0 || h.Pooled(300) == nil {
		t.Errorf("%d bytes count against the limit after the read, want 0 and a pooled buffer of 300 bytes", used())
	}
}

// TestSpillFails removes the spill folder: the partials stay in memory, and the log names the
// partial that could not be written.
func TestSpillFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h, log := start(t, holdings.Config{Limit: 1000, Dir: dir})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	put(h, engine.Leaf(0), data(0, 2000), false)
	eventually(t, "the log names the partial", func() bool {
		return strings.Contains(log.String(), "job=j node=0/0 bytes=2000")
	})
	eventually(t, "the caller stores partials", h.Stuck)
	if got, _, _, err := h.Read("j", engine.Leaf(0)); err != nil || len(got) != 2000 || !h.Short() {
		t.Errorf("%d bytes, %v, short: %v", len(got), err, h.Short())
	}
}

// TestSpillIsRetried makes the spill folder writable again after a failed write. The write is
// retried although nothing else changes.
func TestSpillIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "spill")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		h, log := start(t, holdings.Config{Limit: 1000, Dir: dir})
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		put(h, engine.Leaf(0), data(0, 2000), false)
		synctest.Wait()
		if n := log.Count("Cannot write a partial"); n != 1 {
			t.Fatalf("%d failed writes are logged, want 1", n)
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		if _, inFile := h.Size("j", engine.Leaf(0)); inFile {
			t.Error("the write was retried too early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, inFile := h.Size("j", engine.Leaf(0)); !inFile {
			t.Error("the write was not retried")
		}
	})
}

func TestNoFolder(t *testing.T) {
	if _, err := holdings.New(holdings.Config{Dir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("want an error for a folder that does not exist")
	}
}

// TestReserve makes one reservation that succeeds although memory is short, and a second
// reservation that waits.
func TestReserve(t *testing.T) {
	changes := make(chan struct{}, 100)
	h, _ := start(t, holdings.Config{Limit: 1000, Changed: func() { changes <- struct{}{} }})
	put(h, engine.Leaf(0), data(0, 500), false)
	first, err := h.Reserve(t.Context(), 500)
	if err != nil || !h.Short() || len(changes) != 1 {
		t.Fatalf("%v, short: %v, %d changes", err, h.Short(), len(changes))
	}
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := h.Reserve(ctx, 50)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	second := make(chan *holdings.Reservation)
	go func() {
		r, _ := h.Reserve(context.Background(), 50)
		second <- r
	}()
	first.Release()
	(<-second).Release()
	if h.Short() {
		t.Error("memory is still short")
	}
}

// TestReserveWaitsForSpills reserves memory while partials are moved to files.
func TestReserveWaitsForSpills(t *testing.T) {
	const size = 32 << 20
	h, _ := start(t, holdings.Config{Limit: 3 * size, Dir: t.TempDir()})
	for p := range 3 {
		put(h, engine.Leaf(uint64(p)), data(p, size), false)
	}
	reserved, err := h.Reserve(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	defer reserved.Release()
	if used := h.Stats().Used; used > 3*size {
		t.Errorf("%d bytes are used, want at most %d", used, 3*size)
	}
}

// TestTake takes a partial that nobody reads, and reuses the memory of dropped partials.
func TestTake(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 10_000})
	put(h, engine.Leaf(0), data(0, 100), true)
	_, own, done, err := h.Read("j", engine.Leaf(0))
	if err != nil || own {
		t.Fatalf("%v, own: %v", err, own)
	}
	if _, ok := h.Take("j", engine.Leaf(0)); ok {
		t.Error("took a partial that is read")
	}
	h.Drop("j", engine.Leaf(0))
	if h.Pooled(100) != nil {
		t.Error("the memory of a partial that is read is in the pool")
	}
	done()
	if data := h.Pooled(100); len(data) != 100 || h.Pooled(100) != nil {
		t.Errorf("want one buffer of 100 bytes, got one of %d", len(data))
	}

	put(h, engine.Leaf(1), data(1, 100), true)
	taken, ok := h.Take("j", engine.Leaf(1))
	if !ok || !bytes.Equal(taken, data(1, 100)) {
		t.Fatalf("took: %v", ok)
	}
	if _, _, _, err := h.Read("j", engine.Leaf(1)); !errors.Is(err, holdings.ErrNotHeld) || !h.Has("j", engine.Leaf(1)) {
		t.Errorf("a taken partial: %v", err)
	}
	if used := h.Stats().Used; used != 100 {
		t.Errorf("%d bytes are used, want those of the taken partial", used)
	}
	h.GiveBack("j", engine.Leaf(1), taken)
	if got, _, done, err := h.Read("j", engine.Leaf(1)); err != nil || !bytes.Equal(got, data(1, 100)) {
		t.Fatalf("a partial that was given back: %v", err)
	} else {
		done()
	}
	if taken, ok = h.Take("j", engine.Leaf(1)); !ok {
		t.Fatal("took nothing the second time")
	}
	put(h, engine.Leaf(1), data(1, 100), true) // the partial was computed again
	if h.DropTaken("j", engine.Leaf(1)) {
		t.Error("dropped a partial that was put again")
	}
	h.GiveBack("j", engine.Leaf(1), taken)
	if used := h.Stats().Used; used != 100 {
		t.Errorf("%d bytes are used", used)
	}
	h.Reuse(taken)
	if h.Pooled(99) == nil || h.Pooled(50) != nil {
		t.Error("pooled memory is for partials of about the same size")
	}
}

// TestPoolGivesWay fills the memory: pooled memory is freed before partials are spilled.
func TestPoolGivesWay(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	for range 5 {
		h.Reuse(data(0, 100))
	}
	put(h, engine.Leaf(0), data(0, 100), true)
	h.Use(700)
	if h.Short() {
		t.Error("memory is short")
	}
	left := 0
	for h.Pooled(100) != nil {
		left++
	}
	if left != 2 {
		t.Errorf("%d buffers of pooled memory are left, want 2", left)
	}
}

// TestPoolOutlivesTheJob checks that the next job gets the pooled memory of an ended job, that
// memory of another size stays, and that pooled memory is freed when it was not used for some time.
func TestPoolOutlivesTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := start(t, holdings.Config{Limit: 2000})
		put(h, engine.Leaf(0), data(0, 100), true)
		time.Sleep(time.Hour)
		h.DropJob("j")
		h.Reuse(data(0, 300))
		time.Sleep(20 * time.Second)
		h.Reuse(data(0, 301))
		if h.Pooled(100) == nil {
			t.Error("want the memory of the ended job")
		}
		for range 3 {
			h.Reuse(data(0, 301))
		}
		kept := 0
		for h.Pooled(300) != nil {
			kept++
		}
		if kept != 3 {
			t.Errorf("%d buffers of about 300 bytes are kept, want 3, which is what half of the limit holds", kept)
		}
		h.Reuse(data(0, 300))
		time.Sleep(20 * time.Second)
		h.Reuse(data(0, 100))
		put(h, engine.Leaf(1), data(1, 100), true)
		time.Sleep(20 * time.Second)
		if h.Pooled(300) != nil {
			t.Error("pooled memory is kept although it was not used")
		}
		if h.Pooled(100) == nil {
			t.Error("pooled memory is freed too early")
		}
		h.Reuse(data(0, 100))
		time.Sleep(31 * time.Second)
		if h.Pooled(100) != nil {
			t.Error("pooled memory is kept although it was not used again")
		}
	})
}

func TestDamagedPartial(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	h.Put("j", engine.Leaf(0), data(0, 100), 1, false)
	if _, _, _, err := h.Read("j", engine.Leaf(0)); err == nil || !strings.Contains(err.Error(), "node 0/0 of job j, 100 bytes: the checksum is") {
		t.Errorf("got %v", err)
	}
}

// Two partials of a node differ if they lack different skipped partitions.
func TestPutReplaces(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	put(h, engine.Leaf(0), data(1, 100), true)
	put(h, engine.Leaf(0), data(2, 100), true)
	got, _, done, err := h.Read("j", engine.Leaf(0))
	if err != nil || !bytes.Equal(got, data(2, 100)) {
		t.Fatalf("got %v, %v, want the later partial", got, err)
	}
	done()
	if used := h.Stats().Used; used != 100 {
		t.Errorf("%d bytes are used, want 100", used)
	}
}

// A large reservation waits for the smaller ones before it, and not for those after it.
func TestReserveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := holdings.New(holdings.Config{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		first, err := h.Reserve(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		granted := make(chan string, 2)
		for _, r := range []struct {
			name  string
			bytes int64
		}{{"large", 950}, {"small", 100}} {
			go func() {
				reserved, err := h.Reserve(t.Context(), r.bytes)
				if err == nil {
					granted <- r.name
					reserved.Release()
				}
			}()
			synctest.Wait()
		}
		if len(granted) > 0 {
			t.Errorf("the %s reservation did not wait", <-granted)
		}
		first.Release()
		if name := <-granted; name != "large" {
			t.Errorf("the %s reservation was granted first", name)
		}
		<-granted
	})
}

// Nothing waits for the memory of code that does not return.
func TestDetach(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	lost, err := h.Reserve(t.Context(), 900)
	if err != nil {
		t.Fatal(err)
	}
	lost.Detach()
	second, err := h.Reserve(t.Context(), 200)
	if err != nil {
		t.Fatal(err)
	}
	if used := h.Stats().Used; used != 1100 {
		t.Errorf("%d bytes are used, want 1100", used)
	}
	lost.Release()
	lost.Release()
	second.Release()
	if used := h.Stats().Used; used != 0 {
		t.Errorf("%d bytes are used, want 0", used)
	}
}

// The size of one job's partials does not matter after the job has ended.
func TestShortIsPerJob(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	h.Put("large", engine.Leaf(0), data(0, 2000), wire.Checksum(data(0, 2000)), false)
	h.DropJob("large")
	put(h, engine.Leaf(0), data(0, 10), false)
	if h.Short() {
		t.Error("memory is short although 10 of 1000 bytes are used")
	}
}

// A partial that a merge will take over is not among those that may be dropped.
func TestListOmitsKept(t *testing.T) {
	h, _ := start(t, holdings.Config{Limit: 1000})
	put(h, engine.Leaf(0), data(0, 300), false)
	release, _ := h.Keep("j", engine.Leaf(0))
	if list := h.List(); len(list) > 0 {
		t.Errorf("got %v, want nothing", list)
	}
	release()
	if list := h.List(); len(list) != 1 {
		t.Errorf("got %v, want the released partial", list)
	}
}
