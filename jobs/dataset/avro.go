package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/bellwether-compute/bellwether/jobs/dataset/avro"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// openAvro reads the header of an object.
func (r reader) openAvro(ctx context.Context, o source.Object) (*avro.File, error) {
	c, err := r.content(ctx, o, 0, o.Size)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var head []byte
	for size := 16 << 10; ; size *= 4 {
		begin := len(head)
		head = slices.Grow(head, size)[:begin+size]
		n, end := c.fill(head[begin:])
		if end != nil && !errors.Is(end, io.EOF) {
			return nil, end
		}
		head = head[:begin+n]
		f, err := avro.ReadHeader(head)
		if err == nil {
			return f, nil
		}
		if end != nil || !errors.Is(err, avro.ErrShort) {
			return nil, avroFault(o, 0, err)
		}
	}
}

// avroFault returns the fault for an object that is damaged, or that cannot be read.
func avroFault(o source.Object, offset int64, err error) error {
	text := err.Error()
	if _, is := errors.AsType[*avro.DamagedError](err); is || errors.Is(err, avro.ErrShort) {
		text = fmt.Sprintf("the object is not Avro or is damaged (%v): write it again", err)
	}
	return &Fault{Object: o.Name, Offset: offset, Text: text}
}

// firstAvro returns the header of the first object that is not empty, or nil.
func (r reader) firstAvro(ctx context.Context, l listing) (*avro.File, source.Object, error) {
	for _, o := range l {
		if o.Size > 0 {
			f, err := r.openAvro(ctx, o)
			return f, o, permanent(err)
		}
	}
	return nil, source.Object{}, nil
}

// avroColumns returns the names of the fields of the first object, or nil if all objects are empty.
func (r reader) avroColumns(ctx context.Context, l listing) ([]string, error) {
	f, _, err := r.firstAvro(ctx, l)
	if err != nil || f == nil {
		return nil, err
	}
	return f.Columns(), nil
}

// avroPaths returns the columns of the first object, and after them the paths with dots that a job wants and the object has.
func (r reader) avroPaths(ctx context.Context, l listing, columns, wanted []string) ([]string, error) {
	f, _, err := r.firstAvro(ctx, l)
	if err != nil || f == nil {
		return columns, err
	}
	_, missing := f.Select(wanted)
	known := names.Positions(slices.Concat(columns, missing))
	for _, name := range wanted {
		if _, ok := known[name]; !ok {
			known[name] = len(columns)
			columns = append(columns, name)
		}
	}
	return columns, nil
}

// selectAvro returns the wanted columns of an object.
func (l *layout) selectAvro(f *avro.File, o source.Object) (*avro.Selection, error) {
	wanted := l.wanted
	if wanted == nil {
		wanted = l.columns
	}
	s, missing := f.Select(wanted)
	if len(missing) > 0 {
		return nil, &Fault{Object: o.Name, Text: names.Missing(missing[0], f.Columns()).Error()}
	}
	return s, nil
}

// maxReadOn is the size in bytes of the largest part that is read at once after the end of a range.
const maxReadOn = 8 << 20

// blocks folds the records of those blocks of an Avro object whose sync markers begin in a segment: the markers at which the
// blocks begin, the first of which is the end of the header. It reads on after the segment to the end of the last block.
func (s *scanner[A]) blocks(ctx context.Context, read *ahead, in segment, later []segment, store func() error) error {
	if in.from == in.to {
		return nil
	}
	b := &blockReader[A]{scanner: s, object: in.object, at: in.from, to: in.to, end: in.object.Size}
	if compressionOf(in.object.Name) != plain {
		b.to, b.end = math.MaxInt64, math.MaxInt64
	}
	if in.from > 0 {
		f, err := read.reader.openAvro(ctx, in.object)
		if err != nil {
			return err
		}
		if err := b.open(f); err != nil || b.done {
			return err
		}
	}
	add := func(data []byte) error {
		if err := b.add(data); err != nil {
			return err
		}
		return store()
	}
	if err := read.each(ctx, in.object, in.from, in.to, later, add); err != nil {
		return err
	}
	size := int64(chunkSize / 4)
	for at := in.to; !b.done && at < b.end && b.end < math.MaxInt64; at += size {
		size = min(2*size, maxReadOn, b.end-at)
		if err := read.each(ctx, in.object, at, at+size, later, add); err != nil {
			return err
		}
	}
	return b.finish()
}

// blockReader finds the blocks in consecutive pieces of an object's content, and folds their records:
//
//	header ─▶ inside      a segment at the beginning of the object
//	search ─▶ inside      another segment
//	inside ─▶ done        the block after the next sync marker does not belong to the segment
//	search ─▶ done        no block belongs to the segment
//
// Content that happens to contain the sync marker would begin a block for a later segment. So the reader of the block
// that contains the end of a segment checks that the first sync marker after it is the block's own.
type blockReader[A any] struct {
	scanner *scanner[A]
	object  source.Object
	file    *avro.File // nil until the header is known
	columns *avro.Selection

	to, end int64  // end of the segment, and of the object
	at      int64  // offset of the buffer
	buffer  []byte // content that has not been used
	skip    int64  // number of bytes until the search begins
	inside  bool   // the buffer begins with a block
	done    bool
}

// open sets the header.
func (b *blockReader[A]) open(f *avro.File) (err error) {
	b.file = f
	b.columns, err = b.scanner.layout.selectAvro(f, b.object)
	marker := f.Size - int64(len(f.Marker))
	b.done = b.done || marker >= b.to
	b.skip = max(0, marker-b.at)
	return err
}

// add uses the next piece of the content.
func (b *blockReader[A]) add(data []byte) error {
	if b.done {
		return nil
	}
	b.buffer = append(b.buffer, data...)
	used := 0
	for !b.done {
		n, err := b.step(b.buffer[used:])
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		used += n
		b.at += int64(n)
	}
	b.buffer = append(b.buffer[:0], b.buffer[used:]...)
	return nil
}

// step uses the beginning of the text, and returns the number of bytes. It returns 0 if more bytes are needed.
func (b *blockReader[A]) step(text []byte) (int, error) {
	switch {
	case len(text) == 0:
		return 0, nil
	case b.file == nil:
		return b.header(text)
	case b.inside:
		return b.block(text)
	case b.skip > 0:
		n := min(b.skip, int64(len(text)))
		b.skip -= n
		return int(n), nil
	}
	return b.search(text), nil
}

// header reads the header at the beginning of the object.
func (b *blockReader[A]) header(text []byte) (int, error) {
	f, err := avro.ReadHeader(text)
	if errors.Is(err, avro.ErrShort) {
		return 0, nil
	}
	if err != nil {
		return 0, avroFault(b.object, 0, err)
	}
	if err := b.open(f); err != nil {
		return 0, err
	}
	b.skip, b.inside = 0, true
	return int(f.Size), nil
}

// search looks for the first sync marker.
func (b *blockReader[A]) search(text []byte) int {
	marker := b.file.Marker[:]
	i := bytes.Index(text, marker)
	if i < 0 {
		n := max(0, len(text)-len(marker)+1)
		b.done = b.at+int64(n) >= b.to
		return n
	}
	b.done, b.inside = b.at+int64(i) >= b.to, true
	return i + len(marker)
}

var errMarker = errors.New("the sync marker after a block is wrong, so a part of the object is damaged or missing: write it again")

// block folds the records of the block at the beginning of the text.
func (b *blockReader[A]) block(text []byte) (int, error) {
	head, err := b.file.Block(text)
	if errors.Is(err, avro.ErrShort) {
		return 0, nil
	}
	if err != nil {
		return 0, avroFault(b.object, b.at, err)
	}
	marker := b.file.Marker[:]
	size := head.Size + len(marker)
	if int64(size) > b.end-b.at {
		return 0, avroFault(b.object, b.at, avro.ErrShort)
	}
	if size > len(text) {
		return 0, nil
	}
	if !bytes.Equal(text[head.Size:size], marker) {
		return 0, &Fault{Object: b.object.Name, Offset: b.at, Text: errMarker.Error()}
	}
	next := b.at + int64(head.Size) // offset of the marker at which the next block begins
	if b.done = next >= b.to; b.done {
		if i := bytes.Index(text[max(0, b.to-b.at):size], marker); max(b.at, b.to)+int64(i) != next {
			return 0, &Fault{Object: b.object.Name, Offset: b.at, Text: "the block contains the sync marker of the object, so the object cannot be cut: give a larger parameter block, or write the object again"}
		}
	}
	rows, err := b.file.Rows(b.columns, head, text)
	if err != nil {
		return 0, avroFault(b.object, b.at, err)
	}
	return size, b.fold(rows)
}

// fold folds the records of a block.
func (b *blockReader[A]) fold(rows *avro.Rows) error {
	s := b.scanner
	s.rec.object, s.rec.offset, s.rec.rows = b.object.Name, b.at, rows
	for n := 1; ; n++ {
		ok, err := rows.Next()
		if err != nil {
			return avroFault(b.object, b.at, err)
		}
		if !ok {
			return nil
		}
		if err = rows.Err(); err == nil {
			err = s.fold(&s.acc, s.rec)
		}
		if err != nil {
			err = fmt.Errorf("record %d of the block: %w", n, err)
		}
		if s.count(err == nil, err, s.rec.object, s.rec.offset); s.out.Fault != nil {
			return s.out.Fault
		}
	}
}

// finish returns an error if the content ends within the header or a block.
func (b *blockReader[A]) finish() error {
	if b.done || b.file != nil && (!b.inside || len(b.buffer) == 0) {
		return nil
	}
	return avroFault(b.object, b.at, avro.ErrShort)
}
