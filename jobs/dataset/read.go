package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	gziplib "github.com/klauspost/compress/gzip"
	zstdlib "github.com/klauspost/compress/zstd"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// reader opens objects.
type reader struct {
	source source.Reader
	pause  time.Duration // before the first retry; the next pauses are twice as long each
}

const (
	// maxRetries is the number of retries without a byte between them.
	maxRetries = 6
	firstPause = 100 * time.Millisecond
)

// open returns the bytes [from, to) of an object. Reading retries what is worth it.
func (r reader) open(ctx context.Context, o source.Object, from, to int64) *retrier {
	return &retrier{reader: r, ctx: ctx, object: o, at: from, to: to}
}

// retrier reads a range. After an error it continues from the byte that it needs next.
type retrier struct {
	reader
	ctx    context.Context
	object source.Object
	at, to int64

	body   io.ReadCloser // nil if a request must be sent
	failed int           // times since the last byte
	err    error         // that Read returned, other than io.EOF
}

func (r *retrier) Read(p []byte) (int, error) {
	for {
		n, err := r.try(p)
		r.at += int64(n)
		if n > 0 {
			r.failed = 0
		}
		switch {
		case r.at == r.to:
			return n, io.EOF
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("read %s: %w", r.object.Name, io.ErrUnexpectedEOF) // the connection was closed early
		}
		r.Close()
		if n > 0 {
			return n, nil // the next Read continues
		}
		if r.failed++; r.failed > maxRetries || !retriable(err) {
			r.err = err
			return 0, err
		}
		select {
		case <-r.ctx.Done():
			r.err = context.Cause(r.ctx)
			return 0, r.err
		case <-time.After(r.pause << (r.failed - 1)):
		}
	}
}

// try reads once. At the end of a stream it reads the end too, at which a driver may find out that
// the object has changed.
func (r *retrier) try(p []byte) (n int, err error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if r.body == nil {
		if r.body, err = r.source.Read(r.ctx, r.object, r.at, r.to); err != nil {
			return 0, err
		}
	}
	if left := r.to - r.at; int64(len(p)) > left {
		p = p[:left]
	}
	n, err = r.body.Read(p)
	if err == nil && r.at+int64(n) == r.to {
		if more, end := r.body.Read(make([]byte, 1)); more > 0 || errors.Is(end, source.ErrChanged) {
			return 0, fmt.Errorf("%s: %w", r.object.Name, source.ErrChanged)
		}
	}
	return n, err
}

// Close ends the request. A later Read sends another one.
func (r *retrier) Close() {
	if r.body != nil {
		_ = r.body.Close() // what was read is not affected
		r.body = nil
	}
}

// retriable reports whether a retry may succeed. Errors without a kind are those of connections.
func retriable(err error) bool {
	for _, final := range []error{source.ErrNotFound, source.ErrChanged, source.ErrDenied, source.ErrUnsupported, context.Canceled} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// content is the content of an object, which is decompressed if its name says so.
type content struct {
	raw   *retrier
	plain io.Reader
	close func()
	at    int64 // bytes of plain that were read
}

// content opens the bytes [from, to) of an object.
func (r reader) content(ctx context.Context, o source.Object, from, to int64) (*content, error) {
	c := &content{raw: r.open(ctx, o, from, to), at: from}
	c.plain, c.close = c.raw, func() {}
	var err error
	switch compressionOf(o.Name) {
	case gzip:
		var z *gziplib.Reader
		if z, err = gziplib.NewReader(c.raw); err == nil {
			c.plain, c.close = z, func() { _ = z.Close() }
		}
	case zstd:
		var z *zstdlib.Decoder
		if z, err = zstdlib.NewReader(c.raw, zstdlib.WithDecoderConcurrency(1), zstdlib.WithDecoderLowmem(true)); err == nil {
			c.plain, c.close = z, z.Close
		}
	}
	if err != nil {
		c.raw.Close()
		return nil, c.explain(err)
	}
	return c, nil
}

// fill reads until the buffer is full or the content ends, with io.EOF.
func (c *content) fill(buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var read int
		read, err = c.plain.Read(buffer[n:])
		n += read
	}
	c.at += int64(n)
	if err != nil && err != io.EOF {
		err = c.explain(err)
	}
	return n, err
}

// explain returns the cause of an error: the storage, or content that cannot be decompressed.
func (c *content) explain(err error) error {
	if c.raw.err != nil || compressionOf(c.raw.object.Name) == plain {
		return err
	}
	text := fmt.Sprintf("the compressed content is damaged (%v): write the object again", err)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		text = "the compressed content is truncated: write the object again"
	}
	return &Fault{Object: c.raw.object.Name, Offset: c.at, Text: text}
}

// Close ends reading.
func (c *content) Close() {
	c.close()
	c.raw.Close()
}
