package source

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Object identifies an object, and the version of its content at the time of the listing.
type Object struct {
	Name string // absolute path or URL of the object
	Size int64  // size of the object in bytes
	Tag  string // ETag or time of modification, which changes when the content changes
}

// Lister lists objects.
type Lister interface {
	// List yields the objects that a pattern names, in any order. A pattern has one of these forms:
	//
	//   - the name of an object; a missing object is ErrNotFound;
	//   - a pattern in the form of path.Match, in which * does not match a slash;
	//   - a name that ends in a slash. A pattern that ends in a slash means all objects whose names
	//     begin with the pattern, except for objects whose own name, or the name of one of their
	//     folders, begins with a dot, or with an underscore and does not contain =.
	//
	// The iteration ends with the first error.
	List(ctx context.Context, pattern string) iter.Seq2[Object, error]
}

// Reader reads objects.
type Reader interface {
	// Read returns a stream of the bytes [from, to) of an object, where 0 <= from <= to <= o.Size.
	// If the object has changed since it was listed, Read or the stream fails with ErrChanged. The
	// stream may end with an error before its last byte. A retry may succeed after any error except
	// the errors of this package other than ErrUnavailable.
	Read(ctx context.Context, o Object, from, to int64) (io.ReadCloser, error)
}

// Creator creates objects.
type Creator interface {
	// Create writes an object with the given content. If an object with the name exists, Create
	// fails with ErrExists and changes nothing. The object is durable when Create returns.
	Create(ctx context.Context, name string, content []byte) (Object, error)
}

// Remover removes objects.
type Remover interface {
	// Remove removes an object. If no object has the name, Remove returns nil.
	Remove(ctx context.Context, name string) error
}

// Replacer is an optional interface of a [Driver] that is a [Creator]. Without it, a job cannot complete the output of an
// earlier job.
type Replacer interface {
	// Replace gives an object another content. If the object has changed since it was listed or created, Replace fails with
	// ErrChanged, and if it was removed, with ErrNotFound or ErrChanged; both change nothing. After other errors the object may have the new
	// content. The new content is durable when Replace returns.
	Replace(ctx context.Context, o Object, content []byte) (Object, error)
}

// Driver lists and reads objects. Driver may also be a [Creator], a [Remover], a [Replacer], a [Pruner], a [Selector]
// and a [Namer]. If a Driver implements [io.Closer], Close is called after the last use of the driver.
type Driver interface {
	Lister
	Reader
}

// Pruner is an optional interface of a [Driver] that can list some of the folders below a folder.
type Pruner interface {
	// ListPruned yields what List yields, without objects below folders for which skip returns true. The names of
	// folders end in a slash. ListPruned may yield such objects if leaving them out takes more requests.
	ListPruned(ctx context.Context, pattern string, skip func(folder string) bool) iter.Seq2[Object, error]
}

// Selector is an optional interface of a [Driver] that consists of several drivers, for example one
// for each account. Select returns the driver of an object, which is used in place of the Selector.
type Selector interface {
	Select(name string) (Driver, error)
}

// Namer is an optional interface of a [Driver] whose objects have further names, for example in
// another source. Canonical returns the same name for all names of an object.
type Namer interface {
	Canonical(name string) string
}

// Identifier is an optional interface of a [Driver] whose tags do not identify the content of an object
// beyond a job, such as times of modification. A tag of a driver that is no Identifier does.
type Identifier interface {
	// Identify returns a text that identifies the content of an object beyond a job, together with the
	// object's name, size and tag. The object was listed, and is read after the time since only. If the
	// content can change after this time and the tag stays the same, Identify returns false.
	Identify(o Object, since time.Time) (identity string, certain bool)
}

// These sentinel errors are wrapped by the errors of drivers.
var (
	// ErrNotFound: no object has this name.
	ErrNotFound = errors.New("object not found")
	// ErrChanged: the object has changed since it was listed.
	ErrChanged = errors.New("object changed after the job listed it")
	// ErrDenied: the storage refuses access with the current settings and credentials.
	ErrDenied = errors.New("access to object is denied")
	// ErrUnavailable: the storage is busy or does not answer. A retry may succeed.
	ErrUnavailable = errors.New("storage of object is unavailable")
	// ErrExists: an object with this name already exists.
	ErrExists = errors.New("object exists")
	// ErrUnsupported: the driver does not support this operation.
	ErrUnsupported = errors.New("unsupported")
)
