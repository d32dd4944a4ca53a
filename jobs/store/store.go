package store

import (
	"context"
	"errors"
)

// Errors that drivers return, wrapped, whatever their SDK calls them.
var (
	// ErrNotFound: no value is stored under the key.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the condition of a Put or Delete does not hold; somebody else wrote.
	// An answer that was lost may make a write of one's own look like somebody else's.
	ErrConflict = errors.New("condition does not hold")
	// ErrUnavailable: storage cannot be reached or refuses for now; worth trying again.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrCorrupt: what is stored is not what was written, or is of a format this
	// program does not know.
	ErrCorrupt = errors.New("corrupt or unknown format")
)

// Version identifies one write of one key. Drivers choose its form (an ETag, a
// revision); it is compared for equality only.
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

// Blobs is what a driver stores values in. Keys are made of lower-case letters,
// digits, dots, dashes and slashes. A value is small (a manifest) or large (a
// partial of many megabytes); a Put is atomic either way and durable when it
// returns. Every method returns within a bounded time, with ErrUnavailable if it
// must.
type Blobs interface {
	// Get returns the value and its version, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, Version, error)
	// Put writes the value and returns its version, or ErrConflict.
	Put(ctx context.Context, key string, value []byte, cond Condition) (Version, error)
	// Delete removes the value. It is no error if there is none.
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix, which ends in a slash, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Queue carries submissions. A message is delivered at least once. It stays in
// the queue, hidden, as long as its receiver extends it, so that an autoscaler
// which counts messages keeps the workers that are busy with them.
type Queue interface {
	// Send adds a message; it is durable when Send returns.
	Send(ctx context.Context, body []byte) error
	// Receive waits for a message and hides it for HideFor.
	Receive(ctx context.Context) (Message, error)
}

// Message is one delivery of a message.
type Message interface {
	// Body is what was sent.
	Body() []byte
	// Deliveries is how often it was received, this time included.
	Deliveries() int
	// Extend hides the message for another HideFor from now.
	Extend(ctx context.Context) error
	// Delete removes the message for good.
	Delete(ctx context.Context) error
}
