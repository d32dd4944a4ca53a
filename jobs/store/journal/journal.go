// Package journal writes the journals of jobs to storage: the events that leaders record, and what the code of jobs
// and its programs log.
//
//	leader, slots --Add--> Journal --page after page--> storage
//
// Journals are for people, and never delay a job: Add does not block, and what does not fit is dropped and counted.
// Each writer keeps at most maxPages pages of a job, about pageSize bytes each, so a journal has at most 128 KiB per
// worker and leader.
//
// What can fail:
//
//   - The process dies. Lines of the last moments are lost: at most a second's, or a few seconds' of a writer that
//     has written all the time.
//   - Storage is unavailable. Lines are kept up to maxPending bytes per job, and written later.
//   - Storage is full. The lines are dropped, and counted if a later page can be written.
//   - The job was removed. The page that is written afterwards is listed as a remains of the job, and removed with it.
package journal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/store"
)

const (
	maxText    = 1 << 10  // bytes of a line's text
	maxPending = 32 << 10 // bytes of a job's lines that wait for a write
	pageSize   = 16 << 10 // bytes of a page, after which the next page begins; the last lines of a page may exceed it
	maxPages   = 8        // number of a job's last pages that a writer keeps
	maxBooks   = 1000     // number of jobs whose lines wait or whose pages may grow
	lineCost   = 64       // bytes that a line takes beside its text, about

	soon        = 100 * time.Millisecond // time until a line is written
	routineWait = 3 * time.Second        // time until a routine line is written if no other line comes
	firstPause  = time.Second            // shortest time between two writes of a job's pages by one writer
	maxPause    = 5 * time.Second        // longest time; a writer that writes all the time reaches it
	callTimeout = 5 * time.Second        // timeout of a call to storage
	lastTimeout = time.Second            // timeout of the writes at the end
)

// Store has the methods of the cluster's storage that a journal needs.
type Store interface {
	PutJournal(ctx context.Context, job string, key store.JournalKey, page store.JournalPage) error
	DropJournal(ctx context.Context, job string, key store.JournalKey) error
}

// Journal collects the lines of a process and writes them to storage.
type Journal struct {
	store Store
	log   *slog.Logger
	wake  chan struct{} // has one element if Run must look at the books again

	mu    sync.Mutex
	books map[bookKey]*book
}

type bookKey struct{ writer, job string }

// book contains the lines of a job by one writer.
type book struct {
	pending []store.JournalLine
	bytes   int    // size of the pending lines
	dropped uint64 // number of lines that were dropped since the last page was written
	urgent  bool   // a pending line is not routine
	ended   bool   // no more lines come
	writing bool   // a page with lines that were pending is being written

	due   time.Time // time of the next write; zero if there is nothing to write
	last  time.Time // time of the last write
	pause time.Duration

	number  uint64 // number of the page that grows
	page    store.JournalPage
	size    int // size of the page's lines
	written bool
}

// New returns a journal. Lines are written while Run runs.
func New(s Store, log *slog.Logger) *Journal {
	return &Journal{store: s, log: log, wake: make(chan struct{}, 1), books: map[bookKey]*book{}}
}

// Add adds a line to the journal of a job. If routine is true, the line is worth a write to storage only if the job
// runs for some seconds, or if other lines are written.
func (j *Journal) Add(writer, job string, line store.JournalLine, routine bool) {
	line.Text = strings.ToValidUTF8(line.Text[:min(len(line.Text), maxText)], "")
	j.mu.Lock()
	defer j.mu.Unlock()
	key := bookKey{writer, job}
	b := j.books[key]
	if b == nil {
		if len(j.books) == maxBooks {
			return
		}
		b = &book{pause: firstPause}
		j.books[key] = b
	}
	size := len(line.Text) + lineCost
	if b.bytes+size > maxPending {
		b.dropped++
		return
	}
	b.pending, b.bytes, b.urgent = append(b.pending, line), b.bytes+size, b.urgent || !routine
	wait := soon
	if routine {
		wait = routineWait
	}
	j.schedule(b, wait)
}

// schedule lets a book be written after a time, but not before the pause since the last write is over. The caller
// must hold mu.
func (j *Journal) schedule(b *book, wait time.Duration) {
	now := time.Now()
	if now.Sub(b.last) > 2*maxPause {
		b.pause = firstPause
	}
	due := now.Add(wait)
	if next := b.last.Add(b.pause); next.After(due) {
		due = next
	}
	if b.due.IsZero() || due.Before(b.due) {
		b.due = due
		j.wakeUp()
	}
}

func (j *Journal) wakeUp() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// End says that no more lines of a job come. What is pending is written at once, unless it is only routine.
func (j *Journal) End(writer, job string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := bookKey{writer, job}
	b := j.books[key]
	if b == nil {
		return
	}
	b.ended = true
	switch {
	case b.writing:
		return
	case !b.urgent && !b.written, len(b.pending) == 0 && b.dropped == 0:
		delete(j.books, key)
		return
	}
	b.due = time.Now()
	j.wakeUp()
}

// Run writes lines until ctx is done, and then what is pending.
func (j *Journal) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			j.writeLast(context.WithoutCancel(ctx))
			return
		case <-j.wake:
		case <-timer.C:
		}
		if next := j.writeDue(ctx); !next.IsZero() {
			timer.Reset(max(0, time.Until(next)))
		}
	}
}

// writeLast writes what is pending. It gives up soon, because the process is ending.
func (j *Journal) writeLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastTimeout)
	defer cancel()
	j.mu.Lock()
	for _, b := range j.books {
		if b.ended = true; b.urgent || b.written {
			b.due = time.Now()
		}
	}
	j.mu.Unlock()
	j.writeDue(ctx)
}

// writeDue writes the books that are due, and returns the time at which the next one is due.
func (j *Journal) writeDue(ctx context.Context) (next time.Time) {
	now := time.Now()
	j.mu.Lock()
	var due []bookKey
	for key, b := range j.books {
		if !b.due.IsZero() && !b.due.After(now) {
			due = append(due, key)
		}
	}
	j.mu.Unlock()
	slices.SortFunc(due, func(a, b bookKey) int { return cmp.Or(cmp.Compare(a.writer, b.writer), cmp.Compare(a.job, b.job)) })
	for _, key := range due {
		if ctx.Err() != nil {
			break
		}
		j.write(ctx, key)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.books {
		if !b.due.IsZero() && (next.IsZero() || b.due.Before(next)) {
			next = b.due
		}
	}
	return next
}

// write writes the page of a book that grows. Only Run's goroutine changes the fields of the page.
func (j *Journal) write(ctx context.Context, key bookKey) {
	j.mu.Lock()
	b := j.books[key]
	if b == nil { // the job has ended, and nothing was to be written
		j.mu.Unlock()
		return
	}
	lines, size, dropped := b.pending, b.bytes, b.dropped
	b.pending, b.bytes, b.dropped, b.urgent, b.due, b.writing = nil, 0, 0, false, time.Time{}, true
	j.mu.Unlock()

	page := store.JournalPage{Lines: slices.Concat(b.page.Lines, lines), Dropped: b.page.Dropped + dropped}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	err := j.store.PutJournal(call, key.job, store.JournalKey{Writer: key.writer, Number: b.number}, page)
	cancel()

	j.mu.Lock()
	b.last, b.writing = time.Now(), false
	b.pause = min(2*b.pause, maxPause)
	var old *store.JournalKey
	switch {
	case err == nil:
		b.page, b.size, b.written = page, b.size+size, true
		old = b.turn(key.writer)
	case errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull) && b.bytes+size <= maxPending:
		b.pending, b.bytes, b.dropped, b.urgent = slices.Concat(lines, b.pending), b.bytes+size, b.dropped+dropped, true
		j.schedule(b, 0)
	default:
		b.dropped += dropped + uint64(len(lines))
		j.log.Warn("Could not write the journal of a job, some lines are lost", "job", key.job, "error", err)
	}
	if len(b.pending) == 0 {
		if b.ended {
			delete(j.books, key)
		}
	} else if b.due.IsZero() {
		j.schedule(b, 0)
	}
	j.mu.Unlock()
	if old == nil {
		return
	}
	call, cancel = context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := j.store.DropJournal(call, key.job, *old); err != nil {
		j.log.Warn("Could not remove a page of the journal of a job", "job", key.job, "error", err)
	}
}

// turn begins the next page if the last one is full. It returns the key of the page that is no longer kept, or nil.
func (b *book) turn(writer string) *store.JournalKey {
	if b.size < pageSize {
		return nil
	}
	b.number++
	b.page, b.size = store.JournalPage{}, 0
	if b.number < maxPages {
		return nil
	}
	return &store.JournalKey{Writer: writer, Number: b.number - maxPages}
}
