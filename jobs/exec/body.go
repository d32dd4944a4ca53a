package exec

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"strconv"
	"strings"
)

// bodyReader reads a partial and its body, in memory or from a stream.
type bodyReader struct {
	text []byte    // what was read from the stream and not returned yet; everything that remains, if from is nil
	from io.Reader // nil if the partial is in memory
	read int64     // number of bytes that were read from the stream
	err  error     // first error of the stream, other than its end
}

// readSize is the least number of bytes that are read from a stream at once.
const readSize = 256 << 10

// fill reads more of the stream. It returns false at the end of the stream, and after an error.
func (r *bodyReader) fill() bool {
	if r.from == nil || r.err != nil {
		return false
	}
	// A piece is as large as what remains, so that a line of any length is copied a few times only.
	text := make([]byte, len(r.text), 2*len(r.text)+readSize)
	copy(text, r.text)
	n, err := io.ReadFull(r.from, text[len(text):cap(text)])
	r.text = text[:len(text)+n]
	r.read += int64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		r.from = nil
	case err != nil:
		r.err = err
	}
	return n > 0
}

// take returns the next n bytes.
func (r *bodyReader) take(n int) ([]byte, error) {
	for len(r.text) < n {
		if !r.fill() {
			return nil, r.end()
		}
	}
	data := r.text[:n:n]
	r.text = r.text[n:]
	return data, nil
}

// end returns the error for a partial that has ended too early.
func (r *bodyReader) end() error {
	if r.err != nil {
		return r.err
	}
	return errPartial
}

// line returns the next line without its newline. At the end of the body it returns false.
func (r *bodyReader) line() (line []byte, found bool, err error) {
	searched := 0
	for {
		if at := bytes.IndexByte(r.text[searched:], '\n'); at >= 0 {
			at += searched
			line, r.text = r.text[:at:at], r.text[at+1:]
			return line, true, nil
		}
		searched = len(r.text)
		if r.fill() {
			continue
		}
		if len(r.text) > 0 || r.err != nil {
			return nil, false, r.end()
		}
		return nil, false, nil
	}
}

// head reads the beginning of a partial, up to its body: see newPartial.
func (r *bodyReader) head() (m merge, f files, err error) {
	line, found, err := r.line()
	if err != nil || !found {
		return m, f, cmp.Or(err, errPartial)
	}
	name, rest, described := strings.Cut(string(line), " ")
	if described {
		var length string
		f.output, length, _ = strings.Cut(rest, " ")
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || f.output == "" {
			return m, f, errPartial
		}
		if f.items, err = r.take(n); err != nil {
			return m, f, err
		}
	}
	m, err = parseMerge(name)
	return m, f, err
}

// rest returns the section of a stream that follows what was returned.
func (r *bodyReader) rest(stream *io.SectionReader) *io.SectionReader {
	begin := r.read - int64(len(r.text))
	return io.NewSectionReader(stream, begin, stream.Size()-begin)
}

// bodyWriter writes a partial and its body, to memory or to a stream.
type bodyWriter struct {
	text []byte    // everything that was written, or what was not written to the stream yet
	to   io.Writer // nil if the partial is in memory
}

// written is called after each line. It writes to the stream if there is one and the text is large enough.
func (w *bodyWriter) written() error {
	if w.to == nil || len(w.text) < readSize {
		return nil
	}
	return w.flush()
}

// flush writes all of the text to the stream.
func (w *bodyWriter) flush() error {
	if w.to == nil {
		return nil
	}
	_, err := w.to.Write(w.text)
	w.text = w.text[:0]
	return err
}

// add copies the rest of a body.
func (w *bodyWriter) add(r *bodyReader) error {
	for {
		w.text = append(w.text, r.text...)
		r.text = nil
		if err := w.written(); err != nil {
			return err
		}
		if !r.fill() {
			return r.err
		}
	}
}
