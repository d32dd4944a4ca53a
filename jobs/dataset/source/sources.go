package source

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// Source is a kind of place where jobs read and write objects: a row of the table from which the
// drivers, the help and the errors come.
type Source struct {
	// Schemes are the beginnings of the names of the source's objects, such as "azblob://". The
	// empty scheme stands for paths, which are names without "://" and without another scheme.
	Schemes []string

	// Help describes the objects in one line.
	Help string

	// Open opens the driver and sends no request. The context contains the settings of the process,
	// such as jobs.GrantOf and cluster.Of.
	Open func(ctx context.Context) (Driver, error)
}

// Names returns the schemes of the source, and "a path" for the empty scheme.
func (s Source) Names() (names []string) {
	for _, scheme := range s.Schemes {
		names = append(names, cmp.Or(scheme, "a path"))
	}
	return names
}

// Names describes the names of all objects of sources, for errors and help.
func Names(sources []Source) string {
	var schemes []string
	paths := ""
	for _, s := range sources {
		for _, scheme := range s.Schemes {
			if scheme == "" {
				paths = "a path, or "
				continue
			}
			schemes = append(schemes, scheme)
		}
	}
	if last := len(schemes) - 1; last > 0 {
		schemes = append(schemes[:last-1], schemes[last-1]+" or "+schemes[last]) // the last two without a comma
	}
	return paths + "a name that begins with " + strings.Join(schemes, ", ")
}

type setKey struct{}

// shared is the set of all code that runs with a context.
type shared struct {
	sources []Source // nil means the default of the first call of Of
	ctx     context.Context

	mu  sync.Mutex
	set *Set
}

// With returns a context with which [Of] always returns the same set, whose drivers are opened once.
// If sources is nil, the set contains the sources that are passed to Of. The function release closes
// the set.
func With(ctx context.Context, sources []Source) (with context.Context, release func()) {
	s := &shared{sources: sources}
	s.ctx = context.WithValue(ctx, setKey{}, s)
	return s.ctx, s.close
}

// Of returns the set of a context that [With] has returned, or a new set of the default sources.
func Of(ctx context.Context, defaults []Source) *Set {
	s, ok := ctx.Value(setKey{}).(*shared)
	if !ok {
		return NewSet(ctx, defaults)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		if s.sources == nil {
			s.sources = defaults
		}
		s.set = NewSet(s.ctx, slices.Concat(besides(s.ctx), s.sources))
	}
	return s.set
}

func (s *shared) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set != nil {
		s.set.Close()
	}
}
