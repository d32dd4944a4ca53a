package source

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Object identifies an object, and the content that the object had when it was listed.
type Object struct {
	Name string // complete: an absolute path or a URL
	Size int64  // bytes
	Tag  string // ETag or time of modification, which changes when the content changes
}

// Lister lists objects.
type Lister interface {
	// List yields the objects that a pattern names, in any order. The pattern is one of:
	//
	//   - the name of an object; a missing object is ErrNotFound;
	//   - a pattern in the form of path.Match, in which * does not match a slash;
	//   - a name that ends in a slash. It stands for all objects whose names begin with it, except
	//     for objects whose own name, or the name of one of their folders, begins with a dot.
	//
	// The iteration ends with the first error.
	List(ctx context.Context, pattern string) iter.Seq2[Object, error]
}

// Reader reads objects.
type Reader interface {
	// Read returns a stream of the bytes [from, to) of an object, 0 <= from <= to <= o.Size. If the
	// object has changed since it was listed, Read or the stream fails with ErrChanged. The stream
	// may end with an error before its last byte. After such an error a retry may succeed, unless
	// the error is one of this package other than ErrUnavailable.
	Read(ctx context.Context, o Object, from, to int64) (io.ReadCloser, error)
}

// Creator creates objects.
type Creator interface {
	// Create writes an object in one piece. If an object of that name exists, Create fails with
	// ErrExists and changes nothing. The object is durable when Create returns.
	Create(ctx context.Context, name string, content []byte) (Object, error)
}

// Remover removes objects.
type Remover interface {
	// Remove removes an object. If there is no object of that name, Remove returns nil.
	Remove(ctx context.Context, name string) error
}

// Errors of drivers.
var (
	// ErrNotFound: no object has this name.
	ErrNotFound = errors.New("object not found")
	// ErrChanged: the object has changed since it was listed.
	ErrChanged = errors.New("object changed after the job listed it")
	// ErrDenied: the storage refuses access with the present settings and credentials.
	ErrDenied = errors.New("access to object is denied")
	// ErrUnavailable: the storage is busy or does not answer. A retry may succeed.
	ErrUnavailable = errors.New("storage of object is unavailable")
	// ErrExists: an object with this name already exists.
	ErrExists = errors.New("object exists")
	// ErrUnsupported: the driver does not support this operation.
	ErrUnsupported = errors.New("unsupported")
)
