package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"
)

// Set is a driver that selects a driver by the scheme of an object's name.
//
// The set adapts the number of requests in flight to each account to the requests that the account
// throttles, for all users of the set together. It repeats these requests as long as something
// arrives from the account, and for 5 minutes after that.
type Set struct {
	drivers []*opener
	limits  limits
}

// opener opens the driver of a source when it is first used. A process that does not use the driver
// may have no credentials for it.
type opener struct {
	Source
	ctx context.Context // values for Open

	once   sync.Once
	driver Driver
	err    error
}

func (o *opener) open() (Driver, error) {
	o.once.Do(func() { o.driver, o.err = o.Open(o.ctx) })
	return o.driver, o.err
}

var (
	_ Driver  = (*Set)(nil)
	_ Creator = (*Set)(nil)
	_ Remover = (*Set)(nil)
	_ Namer   = (*Set)(nil)
	_ Pruner  = (*Set)(nil)

	_ Identifier = (*Set)(nil)
)

// NewSet returns a set of the drivers of sources. If several sources have the same scheme, the set
// uses the first of them. The drivers are opened with the values of ctx.
func NewSet(ctx context.Context, sources []Source) *Set {
	s := &Set{limits: limits{watch: watcherOf(ctx), of: map[string]*limit{}}}
	for _, each := range sources {
		s.drivers = append(s.drivers, &opener{Source: each, ctx: context.WithoutCancel(ctx)})
	}
	return s
}

// Close closes the drivers that were opened. No job may use the set anymore.
func (s *Set) Close() {
	for _, o := range s.drivers {
		o.once.Do(func() { o.err = errors.New("the sources of objects are closed") })
		if closer, ok := o.driver.(io.Closer); ok {
			_ = closer.Close() // the error does not matter, because all reads and writes have ended
		}
	}
}

// find returns the source of an object, or nil if no source has the scheme of the name.
func (s *Set) find(name string) (found *opener) {
	for _, o := range s.drivers {
		for _, scheme := range o.Schemes {
			switch {
			case scheme != "" && strings.HasPrefix(name, scheme):
				return o
			case scheme == "" && found == nil && !strings.Contains(name, "://"):
				found = o
			}
		}
	}
	return found
}

func (s *Set) driver(name string) (Driver, error) {
	o := s.find(name)
	if o == nil {
		var sources []Source
		for _, o := range s.drivers {
			sources = append(sources, o.Source)
		}
		scheme, _, _ := strings.Cut(name, "://")
		return nil, fmt.Errorf("%w: objects of %s://: want %s", ErrUnsupported, scheme, Names(sources))
	}
	d, err := o.open()
	if selector, ok := d.(Selector); ok && err == nil {
		return selector.Select(name)
	}
	return d, err
}

// List implements [Lister].
func (s *Set) List(ctx context.Context, pattern string) iter.Seq2[Object, error] {
	d, ctx, err := s.lister(ctx, pattern)
	if err != nil {
		return Fail(err)
	}
	return d.List(ctx, pattern)
}

// lister returns the driver of a pattern, and the context with which it lists.
func (s *Set) lister(ctx context.Context, pattern string) (Driver, context.Context, error) {
	d, err := s.driver(pattern)
	if err != nil {
		return nil, nil, err
	}
	return d, context.WithValue(ctx, limitKey{}, s.limits.get(d, pattern)), nil
}

// ListPruned implements [Pruner]. It lists all objects of a driver that is no Pruner.
func (s *Set) ListPruned(ctx context.Context, pattern string, skip func(folder string) bool) iter.Seq2[Object, error] {
	d, ctx, err := s.lister(ctx, pattern)
	if err != nil {
		return Fail(err)
	}
	if pruner, ok := d.(Pruner); ok {
		return pruner.ListPruned(ctx, pattern, skip)
	}
	return d.List(ctx, pattern)
}

// Read implements [Reader].
func (s *Set) Read(ctx context.Context, o Object, from, to int64) (io.ReadCloser, error) {
	d, err := s.driver(o.Name)
	if err != nil {
		return nil, err
	}
	l := s.limits.get(d, o.Name)
	if l == nil {
		return d.Read(ctx, o, from, to)
	}
	var body io.ReadCloser
	err = l.send(ctx, func() error {
		of, err := d.Read(ctx, o, from, to)
		if err == nil {
			body = l.add(of)
		}
		return err
	})
	return body, err
}

// Create implements [Creator].
func (s *Set) Create(ctx context.Context, name string, content []byte) (o Object, err error) {
	creator, l, err := s.creator(name)
	if err == nil {
		err = l.send(ctx, func() (err error) {
			o, err = creator.Create(ctx, name, content)
			return err
		})
	}
	return o, err
}

func (s *Set) creator(name string) (Creator, *limit, error) {
	d, err := s.driver(name)
	if err != nil {
		return nil, nil, err
	}
	creator, ok := d.(Creator)
	if !ok {
		return nil, nil, fmt.Errorf("create %s: %w: this storage can only be read", name, ErrUnsupported)
	}
	return creator, s.limits.get(d, name), nil
}

// CheckCreate returns ErrUnsupported if no driver can create the named object.
func (s *Set) CheckCreate(name string) error {
	_, _, err := s.creator(name)
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
	return s.limits.get(d, name).send(ctx, func() error { return remover.Remove(ctx, name) })
}

// Replace implements [Replacer].
func (s *Set) Replace(ctx context.Context, o Object, content []byte) (replaced Object, err error) {
	d, err := s.driver(o.Name)
	if err != nil {
		return Object{}, err
	}
	replacer, ok := d.(Replacer)
	if !ok {
		return Object{}, fmt.Errorf("replace %s: %w: this storage cannot replace objects", o.Name, ErrUnsupported)
	}
	err = s.limits.get(d, o.Name).send(ctx, func() (err error) {
		replaced, err = replacer.Replace(ctx, o, content)
		return err
	})
	return replaced, err
}

// Canonical implements [Namer]. An object of a driver that is no Namer has only one name.
func (s *Set) Canonical(name string) string {
	d, err := s.driver(name)
	if namer, ok := d.(Namer); ok && err == nil {
		return namer.Canonical(name)
	}
	return name
}

// Identify implements [Identifier].
func (s *Set) Identify(o Object, since time.Time) (identity string, certain bool) {
	d, err := s.driver(o.Name)
	if identifier, ok := d.(Identifier); ok && err == nil {
		return identifier.Identify(o, since)
	}
	return "", err == nil
}

// Fail returns an iteration that yields only the error err.
func Fail(err error) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) { yield(Object{}, err) }
}
