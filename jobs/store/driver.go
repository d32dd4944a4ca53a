package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// Errors that drivers return, wrapped, whatever their SDK calls them.
var (
	// ErrNotFound: no value is stored under the key.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the condition of a Put does not hold; somebody else wrote. An
	// answer that was lost may make a write of one's own look like somebody else's.
	ErrConflict = errors.New("condition does not hold")
	// ErrUnavailable: storage cannot be reached or refuses for now; worth trying
	// again. A write that failed so may have been done, or may yet be.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrCorrupt: what is stored is not what was written, or is of a format this
	// program does not know.
	ErrCorrupt = errors.New("corrupt or unknown format")

	// ErrNewer is the ErrCorrupt of what a later version of the program has written,
	// which reads it.
	ErrNewer = fmt.Errorf("%w: written by a later version", ErrCorrupt)
)

// Version identifies one write of one key. Drivers choose its form (an ETag, a
// revision); it is compared for equality only. No version comes back, not even
// after a Delete.
type Version string

// Condition is what must hold for a write to happen.
type Condition struct {
	kind    conditionKind
	version Version
}

type conditionKind uint8

const (
	always conditionKind = iota
	absent
	matches
)

// Always writes unconditionally.
var Always = Condition{kind: always}

// IfAbsent writes only where no value is stored.
var IfAbsent = Condition{kind: absent}

// IfVersion writes only where the stored value is that version.
func IfVersion(v Version) Condition { return Condition{kind: matches, version: v} }

// Absent reports whether the condition is IfAbsent.
func (c Condition) Absent() bool { return c.kind == absent }

// Version returns the version the condition demands, if it demands one.
func (c Condition) Version() (Version, bool) { return c.version, c.kind == matches }

// Blobs is what a driver stores values in, under keys that [ValidKey] takes. A
// value is small (a manifest) or large (a partial of many megabytes); a Put is
// atomic either way and durable when it returns. A read sees every write that
// returned before it began. Every method returns within a bounded time, with
// ErrUnavailable if it must, and may be called from several goroutines.
type Blobs interface {
	// Get returns the value and its version, or ErrNotFound. The value is the caller's.
	Get(ctx context.Context, key string) ([]byte, Version, error)
	// Put writes the value and returns its version, or ErrConflict.
	Put(ctx context.Context, key string, value []byte, cond Condition) (Version, error)
	// Delete removes the value. It is no error if there is none.
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix, which is a key and a slash, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
}

// PrefixDeleter is a Blobs that can remove many values at once.
type PrefixDeleter interface {
	// DeletePrefix removes all keys that begin with prefix, which is a key and a
	// slash, and what writes to such keys left behind that came to no end.
	DeletePrefix(ctx context.Context, prefix string) error
}

// Queue carries submissions. A message is delivered at least once. It stays in
// the queue, hidden, as long as its receiver extends it, so that an autoscaler
// which counts messages keeps the workers that are busy with them. The driver
// sets for how long a message is hidden; calls that do not wait for a message
// return within a bounded time, as those of Blobs do.
type Queue interface {
	// Send adds a message of at most MaxMessage bytes; it is durable when Send returns.
	Send(ctx context.Context, body []byte) error
	// Receive waits for a message and hides it. It returns an error only once ctx
	// is done, or where waiting is of no use.
	Receive(ctx context.Context) (Message, error)
}

// Message is one delivery of a message.
type Message interface {
	// Body is what was sent.
	Body() []byte
	// Deliveries is how often it was received, this time included. It may count
	// too few after storage was restarted.
	Deliveries() int
	// Extend hides the message anew, from now.
	Extend(ctx context.Context) error
	// Delete removes the message for good. It may be called again.
	Delete(ctx context.Context) error
}

// MaxMessage is the most bytes a queue's message may have. It is what every
// driver can carry; submissions are far smaller.
const MaxMessage = 32 << 10

// MaxKey is the most bytes a key may have.
const MaxKey = 500

var keyForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)*$`)

// ValidKey reports whether key can name a value: segments of lower-case letters,
// digits, dots and dashes that begin with a letter or digit, parted by slashes,
// MaxKey bytes at most in all.
func ValidKey(key string) bool { return len(key) <= MaxKey && keyForm.MatchString(key) }
