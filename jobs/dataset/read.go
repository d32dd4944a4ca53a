package dataset

import (
	"bytes"
	bzip2lib "compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	zstdlib "github.com/klauspost/compress/zstd"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// reader opens objects for reading, and retries after errors.
type reader struct {
	source source.Reader
	pause  time.Duration // pause before the first retry; each further pause is twice as long as the previous pause
	idle   time.Duration // maximum time for which a server may send no byte
	utf16  string        // encoding of the objects if they are UTF-16; otherwise empty
}

func newReader(from source.Reader) reader {
	return reader{source: from, pause: firstPause, idle: maxIdle}
}

// decoding returns a reader that decodes the objects of an input that are UTF-16.
func (r reader) decoding(in Input) reader {
	if in.isUTF16() {
		r.utf16 = in.Encoding
	}
	return r
}

const (
	// maxRetries is the maximum number of consecutive retries that read no byte.
	maxRetries = 6
	firstPause = 100 * time.Millisecond
)

// open returns a stream of the bytes [from, to) of an object. The stream retries after errors that
// may be temporary.
func (r reader) open(ctx context.Context, o source.Object, from, to int64) *retrier {
	return &retrier{reader: r, ctx: ctx, object: o, at: from, to: to}
}

// retrier reads a range of an object. After an error, the retrier requests the rest of the range.
type retrier struct {
	reader
	ctx    context.Context
	object source.Object
	at, to int64

	body   io.ReadCloser // body of the current response; nil if a request must be sent
	failed int           // number of failed attempts since the last byte
	err    error         // error that Read has returned, other than io.EOF
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
			err = fmt.Errorf("read %s: %w", r.object.Name, io.ErrUnexpectedEOF) // the connection was closed before the end of the range
		}
		r.Close()
		if n > 0 {
			return n, nil // the next call of Read retries
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

// try makes one attempt to read. After the last byte it also reads the end of the stream, because
// some drivers detect a change of the object only at the end of the stream.
func (r *retrier) try(p []byte) (n int, err error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if r.body == nil {
		if r.body, err = r.request(r.ctx, r.object, r.at, r.to); err != nil {
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

// Close ends the current request. A later call of Read sends a new request.
func (r *retrier) Close() {
	if r.body != nil {
		_ = r.body.Close() // an error does not affect the bytes that were read
		r.body = nil
	}
}

// retriable reports whether a retry may succeed. Unknown errors come from connections, and retries
// after connection errors may succeed.
func retriable(err error) bool {
	for _, final := range []error{source.ErrNotFound, source.ErrChanged, source.ErrDenied, source.ErrUnsupported, context.Canceled} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// content is the content of an object. The content is decompressed if the ending of the object's
// name says that the object is compressed, and UTF-16 is decoded.
type content struct {
	raw   *retrier
	plain io.Reader
	close func()
	at    int64 // number of bytes that were read from plain

	members *memberReader // plain if the object is of bgzip; otherwise nil
}

// content opens the bytes [from, to) of an object for reading. Of compressed objects, only those of bgzip have other ranges than the
// whole object, and their content is that of the members that begin in the range.
func (r reader) content(ctx context.Context, o source.Object, from, to int64) (*content, error) {
	end := to
	if compressionOf(o.Name) == gzip {
		end = storedEnd(o, to)
	}
	c := &content{raw: r.open(ctx, o, from, end), at: from}
	c.plain, c.close = c.raw, func() {}
	var err error
	switch compressionOf(o.Name) {
	case gzip:
		err = r.openGzip(c, o, from, to)
	case zstd:
		var z *zstdlib.Decoder
		if z, err = zstdlib.NewReader(c.raw, zstdlib.WithDecoderConcurrency(1), zstdlib.WithDecoderLowmem(true), zstdlib.WithDecoderMaxWindow(maxWindow)); err == nil {
			c.plain, c.close = z, z.Close
		}
	case bzip2:
		c.plain = bzip2lib.NewReader(c.raw)
	}
	if err != nil {
		c.raw.Close()
		return nil, c.explain(err)
	}
	if r.utf16 != "" {
		c.plain = newUTF16Reader(c.plain, o.Name, r.utf16)
	}
	return c, nil
}

// openGzip sets the decompressed content of a range of an object of gzip. A part of an object is a range of members. An object of bgzip that is decoded as a whole is read like another one.
func (r reader) openGzip(c *content, o source.Object, from, to int64) error {
	m := newMemberReader(c.raw, o, from, to)
	if from == 0 && to == o.Size {
		if is, err := m.isBgzip(); err != nil || !is || r.utf16 != "" {
			if err == nil {
				c.plain, err = newGzipReader(io.MultiReader(bytes.NewReader(m.buffer), c.raw))
			}
			return err
		}
	}
	c.plain, c.members = m, m
	return nil
}

// fill reads until the buffer is full or the content ends. At the end, fill returns io.EOF.
func (c *content) fill(buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var read int
		read, err = c.plain.Read(buffer[n:])
		n += read
	}
	c.at += int64(n)
	if o := c.raw.object; compressionOf(o.Name) != plain && c.at > maxExpanded+maxZstdRatio*o.Size {
		return n, &Fault{Object: o.Name, Offset: c.at, Text: errExpanded.Error()}
	}
	if err != nil && err != io.EOF {
		err = c.explain(err)
	}
	return n, err
}

// errNoBzip2 is the error of package bzip2 for bytes that do not begin like a compressed text.
const errNoBzip2 = bzip2lib.StructuralError("bad magic value")

// explain returns an error whose text says either that the object could not be read, or that its
// content could not be decompressed.
func (c *content) explain(err error) error {
	if _, isFault := errors.AsType[*Fault](err); isFault || c.raw.err != nil || compressionOf(c.raw.object.Name) == plain {
		return err
	}
	text := fmt.Sprintf("the compressed content is damaged (%v): write the object again", err)
	if errors.Is(err, errNoGzip) || errors.Is(err, errGarbage) {
		text = err.Error()
	}
	if errors.Is(err, zstdlib.ErrWindowSizeExceeded) {
		text = errWindow.Error()
	}
	if errors.Is(err, zstdlib.ErrMagicMismatch) && c.at == 0 {
		text = "the content is not zstd, which the ending of the name says: rename or compress the object"
	}
	if errors.Is(err, errNoBzip2) && c.at == 0 {
		text = "the content is not bzip2, which the ending of the name says: rename or compress the object"
	}
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
