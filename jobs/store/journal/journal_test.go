package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
	"github.com/bellwether-compute/bellwether/jobs/store/memory"
)

const job = "0123456789abcdev"

// failing is a store whose writes return an error as long as it is set.
type failing struct {
	*store.Store

	mu     sync.Mutex
	err    error
	writes int
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

func (f *failing) PutJournal(ctx context.Context, id string, key store.JournalKey, page store.JournalPage) error {
	f.mu.Lock()
	f.writes++
	err := f.err
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.PutJournal(ctx, id, key, page)
}

// run runs a test with a journal, in fake time. The function end ends the journal.
func run(t *testing.T, test func(t *testing.T, j *Journal, s *failing, end func())) {
	synctest.Test(t, func(t *testing.T) {
		s := &failing{Store: store.New(store.Config{Blobs: memory.NewBlobs()})}
		j := New(s, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			j.Run(ctx)
		}()
		end := func() {
			cancel()
			<-done
		}
		test(t, j, s, end)
		end()
	})
}

func line(text string) store.JournalLine {
	return store.JournalLine{At: time.Now(), Source: store.FromCode, Text: text}
}

// read returns the texts of the stored lines, and the number of dropped lines.
func read(t *testing.T, s *failing) (texts []string, dropped uint64) {
	t.Helper()
	pages, err := s.Journal(t.Context(), job, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		for _, l := range p.Lines {
			texts = append(texts, l.Text)
		}
		dropped += p.Dropped
	}
	return texts, dropped
}

func want(t *testing.T, s *failing, texts ...string) {
	t.Helper()
	if got, _ := read(t, s); fmt.Sprint(got) != fmt.Sprint(texts) {
		t.Errorf("the journal has %q, want %q", got, texts)
	}
}

func TestLinesAreWrittenSoon(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
		j.Add("w.a", job, line("1"), false)
		time.Sleep(2 * soon)
		want(t, s, "1")
		for i := range 100 {
			j.Add("w.a", job, line(fmt.Sprint(i+2)), false)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(maxPause)
		if got, _ := read(t, s); len(got) != 101 || got[100] != "101" {
			t.Errorf("the journal has %d lines, the last %q, want 101", len(got), got[len(got)-1])
		}
		if s.written() > 8 {
			t.Errorf("%d writes in 15 s, want fewer", s.written())
		}
	})
}

func TestEndWritesAtOnce(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
		j.Add("w.a", job, line("1"), false)
		time.Sleep(2 * soon)
		j.Add("w.a", job, line("2"), false)
		j.End("w.a", job)
		synctest.Wait()
		want(t, s, "1", "2")
		if j.mu.Lock(); len(j.books) > 0 {
			t.Errorf("%d jobs are kept in memory after their end", len(j.books))
		}
		j.mu.Unlock()
	})
}

func TestEndOfProcessWrites(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, end func()) {
		j.Add("w.a", job, line("1"), false)
		end()
		want(t, s, "1")
	})
}

// TestRoutine checks that a short job without other lines causes no write.
func TestRoutine(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
		j.Add("e.1", job, line("assigned"), true)
		time.Sleep(time.Second)
		j.End("e.1", job)
		time.Sleep(time.Minute)
		j.mu.Lock()
		if s.written() > 0 || len(j.books) > 0 {
			t.Errorf("%d writes, want none", s.written())
		}
		j.mu.Unlock()
		j.Add("e.1", job, line("assigned"), true)
		j.Add("e.1", job, line("failed"), false)
		time.Sleep(2 * soon)
		want(t, s, "assigned", "failed")
		j.Add("e.1", job, line("long"), true)
		time.Sleep(2 * routineWait)
		want(t, s, "assigned", "failed", "long")
	})
}

func TestOutage(t *testing.T) {
	for _, cause := range []error{store.ErrUnavailable, errors.New("no")} {
		run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
			s.fail(cause)
			j.Add("w.a", job, line("1"), false)
			time.Sleep(10 * time.Second)
			j.Add("w.a", job, line("2"), false)
			j.End("w.a", job)
			s.fail(nil)
			time.Sleep(time.Minute)
			if got, dropped := read(t, s); cause == store.ErrUnavailable && (len(got) != 2 || dropped != 0) || cause != store.ErrUnavailable && (len(got) != 1 || dropped != 1) {
				t.Errorf("%v: the journal has %q and says that %d lines were dropped", cause, got, dropped)
			}
		})
	}
}

// TestBounds checks that a job that writes without end gets the last pages, and that lines in excess are counted.
func TestBounds(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
		const rounds, lines = 20, 100
		text := strings.Repeat("x", 2*maxText)
		for range rounds {
			for range lines {
				j.Add("w.a", job, line(text), false)
			}
			time.Sleep(2 * maxPause)
		}
		pages, err := s.Journal(t.Context(), job, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept := 0
		for i, p := range pages {
			for _, l := range p.Lines {
				if kept += len(l.Text); len(l.Text) > maxText {
					t.Errorf("a line of %d bytes", len(l.Text))
				}
			}
			if len(p.Lines)+int(p.Dropped) != lines {
				t.Errorf("page %d: %d lines and %d dropped ones, want %d in all", i, len(p.Lines), p.Dropped, lines)
			}
		}
		if len(pages) > maxPages || len(pages) < maxPages-1 || pages[len(pages)-1].Number != rounds-1 || kept > maxPages*(pageSize+maxPending) {
			t.Errorf("%d pages of %d bytes, the last has number %d", len(pages), kept, pages[len(pages)-1].Number)
		}
	})
}

// TestRemoved checks that the journal is removed with its job.
func TestRemoved(t *testing.T) {
	run(t, func(t *testing.T, j *Journal, s *failing, _ func()) {
		j.Add("w.a", job, line("1"), false)
		time.Sleep(2 * soon)
		if left, err := s.HalfRemoved(t.Context()); err != nil || len(left) != 1 || left[0] != job {
			t.Errorf("half removed are %v, %v, want the job, which has a journal and no spec", left, err)
		}
		if err := s.Remove(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		want(t, s)
	})
}

// TestWriteAfterEnd checks that a book that ends after it was found to be due is not written.
func TestWriteAfterEnd(t *testing.T) {
	j := New(&failing{Store: store.New(store.Config{Blobs: memory.NewBlobs()})}, slog.New(slog.DiscardHandler))
	j.Add("w", job, store.JournalLine{Text: "routine"}, true)
	j.End("w", job)
	j.write(t.Context(), bookKey{"w", job})
	if s := j.store.(*failing); s.written() > 0 {
		t.Errorf("%d writes", s.written())
	}
}
