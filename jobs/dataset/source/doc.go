// Package source reads and writes the objects that a job processes. Objects are files, blobs, and
// documents of web servers. The package defines the interfaces of drivers, and the errors that
// drivers return. A [Source] describes a driver: a row of the table dataset.Sources, or a value that
// a program adds to jobs.Grant.
//
//	jobs/dataset
//	     │
//	source.Set     chooses a driver by the scheme of an object's name, and limits the
//	     │         requests in flight to an account that throttles them
//	     │
//	     ├─ source/local    /path, file://        list, read, create, remove
//	     ├─ source/azure    azblob://, https://   list, read, create, remove
//	     ├─ source/web      https://, http://     list (one object), read
//	     └─ source/memory   mem://                for tests
//
// An [Object] is listed with its size and its tag. The tag is an ETag or a time of modification,
// and identifies the content together with the size. A driver reads only the content that was
// listed, and returns an error if the object has changed since the listing.
//
// # What can fail
//
//   - The object is missing: [ErrNotFound]. The object was changed after it was listed:
//     [ErrChanged].
//   - The credentials do not permit access: [ErrDenied]. The error contains a fix.
//   - The storage throttles the request (status 429 or 503): [Throttled]. The set adapts the number
//     of requests in flight to the account and repeats the request, so callers of a set get the error only if nothing
//     arrives from the account for 5 minutes.
//   - The storage fails otherwise (status 5xx), is slow or unreachable: [ErrUnavailable], or any
//     error in the middle of a stream. The caller retries from the byte that it needs next.
//   - A name contains a secret, such as the signature of a SAS: [CheckSecret] refuses the name,
//     because names are stored with a job's parameters and printed.
//
// Package source/sourcetest is the conformance suite of the drivers.
package source
