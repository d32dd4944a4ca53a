package store

import (
	"context"
	"errors"
	"fmt"
)

// Drivers translate the errors of their SDK into errors that wrap one of these sentinel errors.
var (
	// ErrNotFound: no value is stored under the key.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the condition of a Put does not hold, because another write came first. The
	// other write may be an earlier Put of the same caller whose response was lost.
	ErrConflict = errors.New("condition does not hold")
	// ErrUnavailable: storage cannot be reached or refuses temporarily; a retry may
	// succeed. A write that returned ErrUnavailable may have taken effect, or may still
	// take effect later.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrTooLarge: storage can never keep a value of this size, even with everything else deleted.
	ErrTooLarge = errors.New("too large for storage")
	// ErrCorrupt: the stored value is damaged or of a format that this program does not
	// know.
	ErrCorrupt = errors.New("corrupt or unknown format")

	// ErrFull is an ErrUnavailable: storage has no room until values are deleted.
	ErrFull = fmt.Errorf("%w: it is full", ErrUnavailable)

	// ErrNewer is an ErrCorrupt: a later version of Bellwether has written the record.
	ErrNewer = fmt.Errorf("%w: written by a later version", ErrCorrupt)
)

// Version identifies one write of one key. Each driver chooses the form of its versions, such as an
// ETag or a revision. Versions are compared for equality only and are never reused, not even after
// a Delete.
type Version string

// Condition is the precondition of a write.
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

// IfAbsent writes only if no value is stored under the key.
var IfAbsent = Condition{kind: absent}

// IfVersion writes only if the stored value has version v.
func IfVersion(v Version) Condition { return Condition{kind: matches, version: v} }

// Absent reports whether the condition is IfAbsent.
func (c Condition) Absent() bool { return c.kind == absent }

// Version returns the version that the stored value must have, and reports whether the condition is
// an IfVersion.
func (c Condition) Version() (Version, bool) { return c.version, c.kind == matches }

// Blobs stores values under keys for which [ValidKey] holds. Values may be small, such
// as a manifest, or many megabytes, such as a partial. A Put is atomic, and the value
// is durable when Put returns. A read sees every write that returned before the read
// began. Each method returns within a bounded time, if necessary with [ErrUnavailable],
// and may be called from several goroutines.
type Blobs interface {
	// Get returns the value and its version, or ErrNotFound. The caller owns the value.
	Get(ctx context.Context, key string) ([]byte, Version, error)
	// Put writes the value and returns its version, or ErrConflict, ErrFull or ErrTooLarge.
	Put(ctx context.Context, key string, value []byte, cond Condition) (Version, error)
	// Delete removes the value. A missing value is not an error.
	Delete(ctx context.Context, key string) error
	// DeleteVersion removes the value if it has version v. A missing value and a value of another
	// version are not errors.
	DeleteVersion(ctx context.Context, key string, v Version) error
	// List returns the keys that begin with prefix, sorted. A prefix is a key and a slash.
	List(ctx context.Context, prefix string) ([]string, error)
}

// PrefixDeleter is an optional interface of a [Blobs] driver that can remove many values at once.
type PrefixDeleter interface {
	// DeletePrefix removes all keys that begin with prefix, which is a key and a slash.
	// DeletePrefix also removes the remains of interrupted writes to keys with the prefix.
	DeletePrefix(ctx context.Context, prefix string) error
}

// RemainsDeleter is an optional interface of a [Blobs] driver in which an interrupted write or
// delete can leave remains. Remains are stored bytes that do not belong to any value.
type RemainsDeleter interface {
	// ListRemains returns, in any order, the keys under which there may be remains. The list also
	// contains keys that have a value or that are being written.
	ListRemains(ctx context.Context) ([]string, error)
	// DeleteRemains removes the remains of a deleted key. DeleteRemains may damage a value that is
	// being written to the key at the same time.
	DeleteRemains(ctx context.Context, key string) error
}

// WriteCounter is an optional interface of a [Blobs] driver whose storage counts its writes.
type WriteCounter interface {
	// Writes returns the counts, which include each Put that returned before.
	Writes(ctx context.Context) (Writes, error)
}

// Writes are counts that show whether storage has lost writes that it had acknowledged.
type Writes struct {
	Count uint64 // number of the last write, which decreases only if storage loses its last writes
	Lost  uint64 // bytes that storage had to drop when it was started, because files were damaged
}

// LostSince reports whether storage has lost writes since it had the earlier counts.
func (w Writes) LostSince(earlier Writes) bool {
	return w.Count < earlier.Count || w.Lost > earlier.Lost
}

// Queue carries submissions. A message is delivered at least once. A received message stays in the
// queue and is hidden from other receivers as long as its receiver extends it. The message stays in
// the queue so that an autoscaler that counts messages does not stop busy workers. The time for
// which a message is hidden is set in the driver's configuration. All methods except Receive return
// within a bounded time, like the methods of [Blobs].
type Queue interface {
	// Send adds a message of at most MaxMessage bytes, which is durable when Send returns.
	Send(ctx context.Context, body []byte) error
	// Receive waits for a message and hides it. Receive returns an error only if ctx is done or if
	// no further message can arrive.
	Receive(ctx context.Context) (Message, error)
}

// Message is a message that was received from a [Queue].
type Message interface {
	// Body returns the bytes that were sent.
	Body() []byte
	// Deliveries returns how many times the message has been received so far. The count may be too low after
	// the storage server has restarted.
	Deliveries() int
	// Extend hides the message for the configured time, counted from now.
	Extend(ctx context.Context) error
	// Delete removes the message from the queue. Delete may be called more than once.
	Delete(ctx context.Context) error
}

// MaxMessage is the largest size of a queue message in bytes. Every driver supports messages of
// MaxMessage bytes; submissions are far smaller.
const MaxMessage = 32 << 10

// MaxKey is the largest length of a key in bytes.
const MaxKey = 500

// ValidKey reports whether key can name a value: at most MaxKey bytes, made of segments
// that are separated by slashes. A segment consists of lower-case letters, digits, dots
// and dashes and begins with a letter or digit.
func ValidKey(key string) bool {
	begins := true // a segment begins
	for _, c := range []byte(key) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			begins = false
		case begins || c != '/' && c != '.' && c != '-':
			return false
		default:
			begins = c == '/'
		}
	}
	return !begins && len(key) <= MaxKey
}
