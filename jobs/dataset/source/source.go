package source

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Object is a pinned object.
type Object struct {
	Name string // complete: an absolute path or a URL
	Size int64  // bytes
	Tag  string // an ETag or a time of modification: changes when the content changes
}

// Lister lists objects.
type Lister interface {
	// List yields the objects that a pattern names, in any order. The pattern is one of:
	//
	//   - the name of an object; a missing object is ErrNotFound;
	//   - a pattern in the form of path.Match: * matches no slash;
	//   - a name that ends in a slash: all objects whose names begin with it, except objects with
	//     a name, or a folder, that begins with a dot.
	//
	// The iteration ends with the first error.
	List(ctx context.Context, pattern string) iter.Seq2[Object, error]
}

// Reader reads objects.
type Reader interface {
	// Read returns the bytes [from, to) of an object, 0 <= from <= to <= o.Size. If the object is
	// not the one that was listed, Read or the stream fails with ErrChanged. The stream may end
	// before its last byte with an error, which is worth a retry unless it is one of this package
	// other than ErrUnavailable.
	Read(ctx context.Context, o Object, from, to int64) (io.ReadCloser, error)
}

// Creator creates objects.
type Creator interface {
	// Create writes an object in one piece. If an object of that name exists, Create fails with
	// ErrExists and changes nothing. The object is durable when Create returns.
	Create(ctx context.Context, name string, content []byte) (Object, error)
}

// Errors of drivers.
var (
	// ErrNotFound: there is no such object.
	ErrNotFound = errors.New("object not found")
	// ErrChanged: the object is not as it was when it was listed.
	ErrChanged = errors.New("object changed after the job listed it")
	// ErrDenied: the storage refuses access until settings or credentials change.
	ErrDenied = errors.New("access to object is denied")
	// ErrUnavailable: the storage is busy or does not answer. A retry may succeed.
	ErrUnavailable = errors.New("storage of object is unavailable")
	// ErrExists: there is an object of this name.
	ErrExists = errors.New("object exists")
	// ErrUnsupported: the driver cannot do this.
	ErrUnsupported = errors.New("unsupported")
)
