package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Large are functions of a definition for partials that exceed the memory of a worker. They read encoded partials as
// streams, and should need memory for a small part of each. A worker calls them in place of Merge and Finish if the
// operands and the result do not fit into its memory limit. The partials of such a merge are in files of the worker.
//
// A definition with these functions has neither Shards nor a SecondPass. A merge of a [Vector] whose Shards is a Vector
// needs none of them, because it is made range by range.
type Large[P, R any] struct {
	// Has reports whether the functions can be called for jobs with the parameters p. If the definition's Merger returns
	// a function for p, Has must return false.
	Has func(p P) bool
	// Merge writes the encoding of the merge of two encoded partials: the same bytes as those of the definition's Merge.
	// The errors of the streams are those of the worker. Any other error fails the job.
	Merge func(left, right io.Reader, merged io.Writer) error
	// Finish computes the result from the encoded partial of the root, as the definition's Finish does. An attachment of the
	// result may be a section of the root: see [AttachSection].
	Finish func(ctx context.Context, p P, root *io.SectionReader) (R, error)
}

func (l *Large[P, R]) check(hasShards, hasSecondPass bool) error {
	switch {
	case l == nil:
	case l.Has == nil || l.Merge == nil || l.Finish == nil:
		return errors.New("Large: want all of Has, Merge and Finish")
	case hasShards || hasSecondPass:
		return errors.New("Large: want neither Shards nor a SecondPass")
	}
	return nil
}

// Large implements [engine.Job].
func (b *binding[P, T, R]) Large(params []byte) engine.Large {
	if l := b.def.Large; l != nil {
		return b.large(l, params)
	}
	if unit := b.unit(); unit > 0 {
		return engine.Large{Merge: func(ctx context.Context, left, right io.Reader, merged io.Writer) error {
			return b.mergeRanges(ctx, params, unit, left, right, merged)
		}}
	}
	return engine.Large{}
}

// large returns the functions of the definition, or none if the parameters cannot be parsed.
func (b *binding[P, T, R]) large(l *Large[P, R], params []byte) (large engine.Large) {
	defer func() {
		if recover() != nil { // a Has that panics has no functions
			large = engine.Large{}
		}
	}()
	p, err := b.parsed(params)
	if err != nil || !l.Has(p) {
		return engine.Large{}
	}
	return engine.Large{
		Grows: true,
		Merge: func(_ context.Context, left, right io.Reader, merged io.Writer) (err error) {
			defer b.end("merge partials of", &err)
			var failed error // first error of a stream, after which another attempt may succeed
			defer func() {
				if v := recover(); v != nil {
					err = newPanicError(v)
				}
				if err != nil && failed == nil {
					err = Permanent(err)
				}
			}()
			return l.Merge(watchedReader{left, &failed}, watchedReader{right, &failed}, watchedWriter{merged, &failed})
		},
		Finish: func(ctx context.Context, root *io.SectionReader) (_ json.RawMessage, _ engine.Attachment, err error) {
			defer b.end("finish", &err)
			r, err := l.Finish(ctx, p, root)
			if err != nil {
				return nil, nil, err
			}
			return b.encodeResult(r)
		},
	}
}

// watchedReader records the first error of a stream.
type watchedReader struct {
	io.Reader
	failed *error
}

func (r watchedReader) Read(to []byte) (int, error) {
	n, err := r.Reader.Read(to)
	if err != nil && !errors.Is(err, io.EOF) && *r.failed == nil {
		*r.failed = err
	}
	return n, err
}

// watchedWriter records the first error of a stream.
type watchedWriter struct {
	io.Writer
	failed *error
}

func (w watchedWriter) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if err != nil && *w.failed == nil {
		*w.failed = err
	}
	return n, err
}

// unit returns the size in bytes of a number if ranges of a partial are its shards, and ranges of its encoding their
// encodings. Otherwise it returns 0.
func (b *binding[P, T, R]) unit() int {
	codec, ok := b.def.Codec.(interface {
		aliases()
		size() int
	})
	if !ok || b.def.Shards == nil || reflect.TypeOf(b.def.Shards) != reflect.TypeOf(b.def.Codec) {
		return 0
	}
	return codec.size()
}

// rangeBytes is about the size in bytes of a range that mergeRanges merges at once.
const rangeBytes = 4 << 20

// mergeRanges merges two vectors range by range.
func (b *binding[P, T, R]) mergeRanges(ctx context.Context, params []byte, unit int, left, right io.Reader, merged io.Writer) error {
	l, r := make([]byte, rangeBytes/unit*unit), make([]byte, rangeBytes/unit*unit)
	for {
		n, err := io.ReadFull(left, l)
		m, other := io.ReadFull(right, r)
		ended, otherEnded := isEnd(err), isEnd(other)
		switch {
		case err != nil && !ended:
			return err
		case other != nil && !otherEnded:
			return other
		case n != m || n%unit != 0:
			return Permanent(fmt.Errorf("merge partials of job %s: its Shards cut only vectors of the same length", b.def.Name))
		case n == 0:
			return nil
		}
		sum, err := b.Merge(ctx, params, engine.Operand{Data: l[:n:n], Own: true}, engine.Operand{Data: r[:n:n], Own: true})
		if err != nil {
			return err
		}
		if len(sum) != n {
			return Permanent(fmt.Errorf("Merge of two shards of %d bytes returned %d bytes: want the same number", n, len(sum)))
		}
		if _, err := merged.Write(sum); err != nil {
			return err
		}
	}
}

// isEnd reports whether an error says that a stream has ended.
func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
