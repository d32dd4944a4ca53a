package source

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
)

// Driver lists and reads objects. Driver may also be a [Creator] and a
// [Remover].
type Driver interface {
	Lister
	Reader
}

// Entry is one driver of a [Set]. The driver is opened when it is first used, because only
// processes that use the driver may have the necessary credentials.
type Entry struct {
	Claims func(name string) bool // reports whether this driver is responsible for a name
	Open   func() (Driver, error)
}

// Set is a driver that selects a driver by the name of an object. A Set uses the first entry whose
// Claims returns true for the name.
type Set struct {
	entries []Entry
	opened  []func() (Driver, error)
}

var (
	_ Driver  = (*Set)(nil)
	_ Creator = (*Set)(nil)
	_ Remover = (*Set)(nil)
)

// NewSet returns a set of drivers.
func NewSet(entries ...Entry) *Set {
	s := &Set{entries: entries}
	for _, e := range entries {
		s.opened = append(s.opened, sync.OnceValues(e.Open))
	}
	return s
}

func (s *Set) driver(name string) (Driver, error) {
	for i, e := range s.entries {
		if e.Claims(name) {
			return s.opened[i]()
		}
	}
	scheme, _, _ := strings.Cut(name, "://")
	return nil, fmt.Errorf("%w: objects of %s://: want a path, or a URL that begins with file, azblob, https or http", ErrUnsupported, scheme)
}

// List implements [Lister].
func (s *Set) List(ctx context.Context, pattern string) iter.Seq2[Object, error] {
	d, err := s.driver(pattern)
	if err != nil {
		return Fail(err)
	}
	return d.List(ctx, pattern)
}

// Read implements [Reader].
func (s *Set) Read(ctx context.Context, o Object, from, to int64) (io.ReadCloser, error) {
	d, err := s.driver(o.Name)
	if err != nil {
		return nil, err
	}
	return d.Read(ctx, o, from, to)
}

// Create implements [Creator].
func (s *Set) Create(ctx context.Context, name string, content []byte) (Object, error) {
	creator, err := s.creator(name)
	if err != nil {
		return Object{}, err
	}
	return creator.Create(ctx, name, content)
}

func (s *Set) creator(name string) (Creator, error) {
	d, err := s.driver(name)
	if err != nil {
		return nil, err
	}
	creator, ok := d.(Creator)
	if !ok {
		return nil, fmt.Errorf("create %s: %w: this storage can only be read", name, ErrUnsupported)
	}
	return creator, nil
}

// CheckCreate returns ErrUnsupported if no driver can create the named object.
func (s *Set) CheckCreate(name string) error {
	_, err := s.creator(name)
	return err
}

// Remove implements [Remover].
func (s *Set) Remove(ctx context.Context, name string) error {
	d, err := s.driver(name)
	if err != nil {
		return err
	}
	remover, ok := d.(Remover)
	if !ok {
		return fmt.Errorf("remove %s: %w: this storage can only be read", name, ErrUnsupported)
	}
	return remover.Remove(ctx, name)
}

// Fail returns an iteration that yields only the error err.
func Fail(err error) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { yield(Object{}, err) }
}
