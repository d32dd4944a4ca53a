package store

import (
	"context"
	"errors"
	"strings"
)

// Call describes one finished call of a driver method.
type Call struct {
	Name  string // name of the call: put, get, delete, list, delete_prefix, send, receive, extend or acknowledge
	Kind  string // the first segment of the key; empty for queue calls
	Bytes int    // size of the value or message in bytes, if the call has one
	Err   error
}

// Outcome returns the outcome of a call: ok, absent, conflict, cancelled or error. A call is
// cancelled if the caller's context was cancelled; unavailable storage is an error.
func (c Call) Outcome() string {
	switch {
	case c.Err == nil:
		return "ok"
	case errors.Is(c.Err, ErrNotFound):
		return "absent"
	case errors.Is(c.Err, ErrConflict):
		return "conflict"
	case errors.Is(c.Err, context.Canceled):
		return "cancelled"
	}
	return "error"
}

// CallNames and CallOutcomes list all values of Call.Name and of Call.Outcome.
var (
	CallNames    = []string{"get", "put", "delete", "list", "delete_prefix", "send", "receive", "extend", "acknowledge"}
	CallOutcomes = []string{"ok", "absent", "conflict", "cancelled", "error"}
)

// observe wraps a driver so that f is called after each call of the driver.
func observe(blobs Blobs, queue Queue, f func(Call)) (Blobs, Queue) {
	observed := observedBlobs{blobs, f}
	if d, ok := blobs.(PrefixDeleter); ok {
		return observedPrefixDeleter{observed, d}, observedQueue{queue, f}
	}
	return observed, observedQueue{queue, f}
}

type observedBlobs struct {
	Blobs
	observe func(Call)
}

func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "/")
	return kind
}

func (b observedBlobs) Get(ctx context.Context, key string) ([]byte, Version, error) {
	value, version, err := b.Blobs.Get(ctx, key)
	b.observe(Call{"get", kindOf(key), len(value), err})
	return value, version, err
}

func (b observedBlobs) Put(ctx context.Context, key string, value []byte, cond Condition) (Version, error) {
	version, err := b.Blobs.Put(ctx, key, value, cond)
	b.observe(Call{"put", kindOf(key), len(value), err})
	return version, err
}

func (b observedBlobs) Delete(ctx context.Context, key string) error {
	err := b.Blobs.Delete(ctx, key)
	b.observe(Call{"delete", kindOf(key), 0, err})
	return err
}

func (b observedBlobs) DeleteVersion(ctx context.Context, key string, v Version) error {
	err := b.Blobs.DeleteVersion(ctx, key, v)
	b.observe(Call{"delete", kindOf(key), 0, err})
	return err
}

func (b observedBlobs) List(ctx context.Context, prefix string) ([]string, error) {
	keys, err := b.Blobs.List(ctx, prefix)
	b.observe(Call{"list", kindOf(prefix), 0, err})
	return keys, err
}

// observedPrefixDeleter adds DeletePrefix to an observed driver. observedPrefixDeleter is a
// separate type, so that the wrapped driver has the method DeletePrefix only if the original driver
// has it.
type observedPrefixDeleter struct {
	observedBlobs
	deleter PrefixDeleter
}

func (d observedPrefixDeleter) DeletePrefix(ctx context.Context, prefix string) error {
	err := d.deleter.DeletePrefix(ctx, prefix)
	d.observe(Call{"delete_prefix", kindOf(prefix), 0, err})
	return err
}

type observedQueue struct {
	Queue
	observe func(Call)
}

func (q observedQueue) Send(ctx context.Context, body []byte) error {
	err := q.Queue.Send(ctx, body)
	q.observe(Call{"send", "", len(body), err})
	return err
}

func (q observedQueue) Receive(ctx context.Context) (Message, error) {
	m, err := q.Queue.Receive(ctx)
	if err != nil {
		q.observe(Call{"receive", "", 0, err})
		return nil, err
	}
	q.observe(Call{"receive", "", len(m.Body()), nil})
	return observedMessage{m, q.observe}, nil
}

type observedMessage struct {
	Message
	observe func(Call)
}

func (m observedMessage) Extend(ctx context.Context) error {
	err := m.Message.Extend(ctx)
	m.observe(Call{"extend", "", 0, err})
	return err
}

func (m observedMessage) Delete(ctx context.Context) error {
	err := m.Message.Delete(ctx)
	m.observe(Call{"acknowledge", "", 0, err})
	return err
}
