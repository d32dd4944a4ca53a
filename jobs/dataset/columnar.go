package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// loaded reads an object for package parquet.
type loaded struct {
	reader
	ctx    context.Context
	object source.Object

	from int64  // offset of tail
	tail []byte // bytes that were read in advance

	chunks []byte // memory of load

	mu  sync.Mutex
	err error // first error of a read from storage
}

// chunksInFlight is the maximum number of column chunks that are read at the same time.
const chunksInFlight = 4

// load reads the ranges of a row group. The next call uses the memory again, which is as large as the largest row group.
func (l *loaded) load(ranges []parquet.Range) ([][]byte, error) {
	size := int64(0)
	for _, r := range ranges {
		size += r.To - r.From
	}
	if int64(cap(l.chunks)) < size {
		l.chunks = nil // before the larger memory is allocated
		l.chunks = make([]byte, size)
	}
	list, rest := make([][]byte, len(ranges)), l.chunks[:size]
	group := errgroup.Group{}
	group.SetLimit(chunksInFlight)
	for i, r := range ranges {
		n := r.To - r.From
		list[i], rest = rest[:n:n], rest[n:]
		group.Go(func() error {
			_, err := l.read(list[i], r.From)
			return err
		})
	}
	return list, group.Wait()
}

// read reads bytes of the object from storage.
func (l *loaded) read(p []byte, offset int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	body := l.open(l.ctx, l.object, offset, offset+int64(len(p)))
	defer body.Close()
	n, err := io.ReadFull(body, p)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (l *loaded) ReadAt(p []byte, offset int64) (int, error) {
	if from := offset - l.from; from >= 0 && from+int64(len(p)) <= int64(len(l.tail)) {
		return copy(p, l.tail[from:]), nil
	}
	if offset < 0 || offset+int64(len(p)) > l.object.Size {
		return 0, io.ErrUnexpectedEOF
	}
	return l.read(p, offset)
}

// explain returns the first error of a read from storage, or a Fault if all reads succeeded. The Fault
// says that the object is damaged, or why an object that is not damaged cannot be read.
func (l *loaded) explain(offset int64, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if _, ok := errors.AsType[*parquet.UnreadableError](err); ok {
		return &Fault{Object: l.object.Name, Offset: offset, Text: err.Error()}
	}
	return &Fault{Object: l.object.Name, Offset: offset, Text: fmt.Sprintf("the object is not Parquet or is damaged (%v): write it again", err)}
}

// openParquet reads the footer of an object.
func (r reader) openParquet(ctx context.Context, o source.Object) (*parquet.File, *loaded, error) {
	if compressionOf(o.Name) != plain {
		return nil, nil, &Fault{Object: o.Name, Text: "the object is compressed, and Parquet compresses its columns itself: decompress the object"}
	}
	l := &loaded{reader: r, ctx: ctx, object: o, from: max(0, o.Size-parquet.TailSize)}
	tail := make([]byte, o.Size-l.from)
	if _, err := l.read(tail, l.from); err != nil {
		return nil, nil, err
	}
	l.tail = tail
	f, err := parquet.Open(l, o.Size)
	if err != nil {
		return nil, nil, l.explain(0, err)
	}
	return f, l, nil
}

// rowsBetween is the number of rows between two checks of the context, and between two calls of
// Store.
const rowsBetween = 64 << 10

// groups folds the rows of those row groups of an object that begin in the range [from, to).
func (m *mapper[P, A, R]) groups(ctx context.Context, s *scanner[A], o source.Object, from, to int64, store func() error) error {
	if from == to {
		return nil
	}
	f, l, err := m.reader.openParquet(ctx, o)
	if err != nil {
		return err
	}
	columns, err := s.layout.leaves(f, o)
	if err != nil {
		return err
	}
	for group := range f.Groups() {
		offset, err := f.Offset(group)
		if err != nil {
			return l.explain(0, err)
		}
		if offset < from || offset >= to {
			continue
		}
		rows, err := l.rows(f, group, columns, offset)
		if err != nil {
			return err
		}
		s.rec.object, s.rec.offset, s.rec.rows = o.Name, offset, rows
		if err := s.foldRows(ctx, l, rows, store); err != nil {
			return err
		}
	}
	return nil
}

// rows loads the columns of a row group, which begins at the offset.
func (l *loaded) rows(f *parquet.File, group int, columns []int, offset int64) (*parquet.Rows, error) {
	chunks, err := f.Chunks(group, columns)
	if err != nil {
		return nil, l.explain(offset, err)
	}
	data, err := l.load(chunks)
	if err != nil {
		return nil, err
	}
	rows, err := f.Rows(group, columns, data)
	if err != nil {
		return nil, l.explain(offset, err)
	}
	return rows, nil
}

// foldRows folds the rows of a row group.
func (s *scanner[A]) foldRows(ctx context.Context, l *loaded, rows *parquet.Rows, store func() error) error {
	for n, next := 0, rowsBetween; ; {
		ok, err := rows.Next()
		if err != nil {
			return l.explain(s.rec.offset, err)
		}
		if !ok {
			return nil
		}
		folded, err := s.foldRow(rows, n)
		if err != nil {
			return err
		}
		if n += folded; n > next {
			next += rowsBetween
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := store(); err != nil {
				return err
			}
		}
	}
}

// foldRow folds the current row, row n of the row group, and if the job allows it the rows after it. It
// returns the number of folded rows.
func (s *scanner[A]) foldRow(rows *parquet.Rows, n int) (folded int, err error) {
	if s.bulkRows != nil {
		if folded := s.bulkRows(&s.acc, rows); folded > 0 {
			s.out.Records += uint64(folded)
			rows.Skip(folded - 1)
			return folded, nil
		}
	}
	s.rec.buffer = s.rec.buffer[:0]
	if err = s.fold(&s.acc, s.rec); err != nil {
		err = fmt.Errorf("row %d of the row group: %w", n+1, err)
	}
	if s.count(err == nil, err, s.rec.object, s.rec.offset); s.out.Fault != nil {
		return 0, s.out.Fault
	}
	return 1, nil
}

// leaves returns the indices of the wanted columns in an object.
func (l *layout) leaves(f *parquet.File, o source.Object) (columns []int, err error) {
	wanted, have := l.wanted, f.Columns()
	if wanted == nil {
		wanted = l.columns
	}
	if err := checkNames(have, wanted); err != nil {
		return nil, &Fault{Object: o.Name, Text: err.Error()}
	}
	positions := names.Positions(have)
	for _, name := range wanted {
		i, ok := positions[name]
		if !ok {
			text := fmt.Sprintf("%v; the parameter union=%s reads objects that lack columns", names.Missing(name, have), byName)
			return nil, &Fault{Object: o.Name, Text: text}
		}
		columns = append(columns, i)
	}
	return columns, nil
}
