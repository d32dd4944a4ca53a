package dataset

import (
	"bytes"
	"errors"
	"fmt"
)

// split divides the record into fields according to RFC 4180. If the layout has no columns yet, any
// number of fields is valid.
func (r *Record) split() error {
	l := r.layout
	if l.hasQuotes(r.text) {
		return r.splitQuoted()
	}
	if l.columns == nil {
		r.fields = r.fields[:0]
		for lo := 0; ; {
			i := bytes.IndexByte(r.text[lo:], l.delimiter)
			if i < 0 {
				r.fields = append(r.fields, bound{lo, len(r.text)})
				r.trimFields()
				return nil
			}
			r.fields = append(r.fields, bound{lo, lo + i})
			lo += i + 1
		}
	}
	fields, text, lo := r.fields, r.text, 0
	last := len(fields) - 1
	for n := range last {
		i := bytes.IndexByte(text[lo:], l.delimiter)
		if i < 0 {
			return r.ragged(n + 1)
		}
		fields[n] = bound{lo, lo + i}
		lo += i + 1
	}
	if bytes.IndexByte(text[lo:], l.delimiter) >= 0 {
		return r.ragged(bytes.Count(text, []byte{l.delimiter}) + 1)
	}
	fields[last] = bound{lo, len(text)}
	r.trimFields()
	return nil
}

// ragged returns the error for a record whose number of fields differs from the number of columns.
func (r *Record) ragged(got int) error {
	return fmt.Errorf("%s has %d fields: want %d, as there are columns (check the parameters delimiter and quote)", quoted(r.text), got, len(r.layout.columns))
}

// splitQuoted divides a record that contains quotes into fields. It copies the fields to a buffer
// without their quotes.
func (r *Record) splitQuoted() error {
	l := r.layout
	rest, out, n := r.text, r.buffer[:0], 0
	fields := r.fields
	if l.columns == nil {
		fields = fields[:0]
	}
	if out == nil { // otherwise an empty field could be nil, as a missing value is
		out = make([]byte, 0, len(rest))
	}
	defer func() { r.buffer = out }()
	for more := true; more; n++ {
		lo := len(out)
		var err error
		if rest, out, more, err = l.field(rest, out); err != nil {
			at := len(r.text) - len(rest)
			return fmt.Errorf("at byte %d of the record %s: %w", at, quoted(r.text), err)
		}
		switch {
		case l.columns == nil:
			fields = append(fields, bound{lo, len(out)})
		case n < len(fields):
			fields[n] = bound{lo, len(out)}
		}
	}
	if l.columns != nil && n != len(fields) {
		return r.ragged(n)
	}
	r.fields, r.data = fields, out
	return nil
}

var (
	errBareQuote = errors.New("a quote in a field that does not begin with one: check the parameters delimiter and quote, or enclose the field in quotes and double the quote")
	errAfter     = errors.New("text after the quote that ends a field: double a quote that is part of the field, or give the parameter quote")
	errOpen      = errors.New("a quoted field does not end: a quote is missing, or give the parameter quote")
)

// field appends the content of the first field of rest to out. It returns the text after the field
// and its delimiter, and reports whether another field follows. If field returns an error, the
// returned text begins at the position of the error.
func (l *layout) field(rest, out []byte) (_, _ []byte, more bool, err error) {
	if text := bytes.TrimLeft(rest, l.spaces); len(text) > 0 && text[0] == l.quote {
		rest = text
	}
	if len(rest) == 0 || rest[0] != l.quote {
		end := bytes.IndexByte(rest, l.delimiter)
		if more = end >= 0; !more {
			end = len(rest)
		}
		if bare := bytes.IndexByte(rest[:end], l.quote); bare >= 0 {
			return rest[bare:], out, false, errBareQuote
		}
		out = append(out, bytes.Trim(rest[:end], l.spaces)...)
		return rest[min(len(rest), end+1):], out, more, nil
	}
	rest = rest[1:]
	for {
		end := bytes.IndexByte(rest, l.quote)
		if end < 0 {
			return rest[len(rest):], out, false, errOpen
		}
		out = append(out, rest[:end]...)
		rest = rest[end+1:]
		if text := bytes.TrimLeft(rest, l.spaces); len(text) == 0 || text[0] == l.delimiter {
			rest = text
		}
		switch {
		case len(rest) == 0:
			return rest, out, false, nil
		case rest[0] == l.delimiter:
			return rest[1:], out, true, nil
		case rest[0] == l.quote:
			out = append(out, l.quote)
			rest = rest[1:]
		default:
			return rest, out, false, errAfter
		}
	}
}
