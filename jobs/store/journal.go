package store

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JournalWriter takes the lines of the journals of jobs. No method may block.
type JournalWriter interface {
	// Add adds a line. A routine line is worth a write to storage only if the job takes seconds.
	Add(writer, job string, line JournalLine, routine bool)
	// End says that no more lines of a job follow.
	End(writer, job string)
}

// NoJournal is a JournalWriter that drops all lines.
type NoJournal struct{}

// Add implements JournalWriter.
func (NoJournal) Add(string, string, JournalLine, bool) {}

// End implements JournalWriter.
func (NoJournal) End(string, string) {}

// JournalLine is a line of a job's journal: an event that a leader has recorded, or a text that the job's code or
// one of its programs has written. Lines have no effect on the job.
type JournalLine struct {
	At        time.Time `cbor:"1,keyasint" json:"at"`
	Source    Source    `cbor:"2,keyasint" json:"source"`
	Worker    string    `cbor:"3,keyasint,omitempty" json:"worker"`    // worker that wrote the text, or that an event is about; may be empty
	Partition *uint64   `cbor:"4,keyasint,omitempty" json:"partition"` // nil if the line belongs to no partition
	Attempt   int       `cbor:"5,keyasint,omitempty" json:"attempt"`   // number of the attempt at the partition, from 1; 0 if unknown
	Text      string    `cbor:"6,keyasint" json:"text"`
	Kind      EventKind `cbor:"7,keyasint,omitempty" json:"-"` // only of events, and empty for most of them and in lines of earlier versions
	Host      string    `cbor:"8,keyasint,omitempty" json:"-"` // host of the worker in a DeathEvent
}

// EventKind is the kind of an event for programs that select events.
type EventKind string

const (
	FailureEvent EventKind = "failure" // an attempt at a partition or a call has failed
	DeathEvent   EventKind = "death"   // a worker with work of the job has died, or was silent for too long
)

// Source says who has written a line of a journal.
type Source string

const (
	FromLeader Source = "event"  // the leader has recorded an event
	FromCode   Source = "log"    // the job's code has logged a line
	FromStderr Source = "stderr" // a program has written a line to standard error
)

// JournalPage contains lines of one writer, in the order in which they were written.
type JournalPage struct {
	Lines   []JournalLine
	Dropped uint64 // number of lines that were dropped before or among these lines, because there were too many
}

// JournalKey names a page of a job's journal. Each writer numbers its pages.
type JournalKey struct {
	Writer string // see WorkerJournal and LeaderJournal
	Number uint64
}

// WorkerJournal and LeaderJournal return the names of the writers of a journal. Each of them writes its own
// pages, so no write replaces a page of another writer.
func WorkerJournal(worker string) string { return WorkerPrefix + worker }
func LeaderJournal(epoch uint64) string  { return fmt.Sprintf("%s%016x", LeaderPrefix, epoch) }

// The names of writers begin with these texts.
const (
	WorkerPrefix = "w."
	LeaderPrefix = "e."
)

// PutJournal writes a page, and replaces an earlier form of the page.
func (s *Store) PutJournal(ctx context.Context, id string, key JournalKey, page JournalPage) error {
	_, err := s.put(ctx, journals, id, encodeJournal(page), Always, key.segments()...)
	return err
}

// DropJournal removes a page. A missing page is not an error.
func (s *Store) DropJournal(ctx context.Context, id string, key JournalKey) error {
	return s.remove(ctx, journals, id, key.segments()...)
}

// Journal returns pages of a job's journal, sorted by key. It omits pages for which skip returns true; skip may be nil.
func (s *Store) Journal(ctx context.Context, id string, skip func(JournalKey) bool) ([]KeyedPage, error) {
	prefix, err := jobKey(journals, id)
	if err != nil {
		return nil, err
	}
	keys, err := s.list(ctx, prefix+"/")
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		page, ok := journalKeyOf(key)
		return !ok || skip != nil && skip(page)
	})
	entries, err := readKeys(ctx, s, keys, decodeJournal)
	if err != nil {
		return nil, err
	}
	pages := make([]KeyedPage, 0, len(entries))
	for _, e := range entries {
		key, _ := journalKeyOf(e.key)
		pages = append(pages, KeyedPage{key, e.value})
	}
	slices.SortFunc(pages, func(a, b KeyedPage) int {
		return cmp.Or(strings.Compare(a.Writer, b.Writer), cmp.Compare(a.Number, b.Number))
	})
	return pages, nil
}

// KeyedPage is a page of a journal with its key.
type KeyedPage struct {
	JournalKey
	JournalPage
}

func (k JournalKey) segments() []string { return []string{k.Writer, fmt.Sprintf("%08d", k.Number)} }

// journalKeyOf returns the key of a page from the page's key in storage.
func journalKeyOf(key string) (k JournalKey, ok bool) {
	number, err := strconv.ParseUint(path.Base(key), 10, 64)
	return JournalKey{path.Base(path.Dir(key)), number}, err == nil
}

// The stored form of a line contains its time as an integer.
type (
	journalRecord struct {
		Lines   []journalLine `cbor:"1,keyasint,omitempty"`
		Dropped uint64        `cbor:"2,keyasint,omitempty"`
	}
	journalLine struct {
		JournalLine
		At int64 `cbor:"1,keyasint"`
	}
)

func encodeJournal(p JournalPage) []byte {
	r := journalRecord{Dropped: p.Dropped}
	for _, l := range p.Lines {
		l.Text = strings.ToValidUTF8(l.Text, "\ufffd")
		r.Lines = append(r.Lines, journalLine{l, micros(l.At)})
	}
	return encode(r)
}

func decodeJournal(data []byte) (p JournalPage, err error) {
	r, err := decode[journalRecord](data)
	p.Dropped = r.Dropped
	for _, l := range r.Lines {
		l.JournalLine.At = fromMicros(l.At)
		p.Lines = append(p.Lines, l.JournalLine)
	}
	return p, err
}
