package parquet

import (
	"errors"
	"io"
	"strings"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// File is an open Parquet object.
type File struct {
	file   *library.File
	leaves []leaf // columns that are not in lists or maps

	omitted []string // names of the other columns
}

// Range is the range of bytes [From, To) of an object.
type Range struct{ From, To int64 }

// TailSize is the number of bytes at the end of an object that [Open] usually reads.
const TailSize = 64 << 10

// Open reads the footer of an object.
func Open(r io.ReaderAt, size int64) (f *File, err error) {
	defer recoverTo(&err)
	var magic [4]byte
	if size >= int64(len(magic)) {
		if _, err := r.ReadAt(magic[:], size-int64(len(magic))); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if string(magic[:]) == "PARE" {
		return nil, errEncrypted
	}
	file, err := library.OpenFile(r, size, library.SkipMagicBytes(true), library.SkipPageIndex(true), library.SkipBloomFilters(true))
	if err != nil && strings.Contains(err.Error(), "signed footer") {
		return nil, errEncrypted
	}
	if err != nil {
		return nil, err
	}
	f = &File{file: file}
	schema := file.Schema()
	var elements []*format.SchemaElement // declarations of the columns
	for i := range file.Metadata().Schema {
		if e := &file.Metadata().Schema[i]; e.Type.Valid {
			elements = append(elements, e)
		}
	}
	for _, path := range schema.Columns() {
		column, ok := schema.Lookup(path...)
		name := strings.Join(path, ".")
		if ok && column.MaxRepetitionLevel == 0 {
			if l, ok := newLeaf(name, column, elements[column.ColumnIndex]); ok {
				f.leaves = append(f.leaves, l)
				continue
			}
		}
		f.omitted = append(f.omitted, name)
	}
	return f, nil
}

// UnreadableError is the error for an object that is not damaged, but that this package cannot read.
type UnreadableError struct{ text string }

func (e *UnreadableError) Error() string { return e.text }

var errEncrypted = &UnreadableError{"the object is encrypted, and encrypted Parquet cannot be read: write it without encryption"}

var errStructure = errors.New("its structure contradicts itself")

// recoverTo turns a panic of the library into an error. The library panics if a part of an object refers
// to something that does not exist.
func recoverTo(err *error) {
	if recover() != nil {
		*err = errStructure
	}
}

// Columns returns the names of the columns. The name of a column in a group contains the names of
// its groups, separated by dots.
func (f *File) Columns() (names []string) {
	for _, l := range f.leaves {
		names = append(names, l.name)
	}
	return names
}

// Omitted returns the names of the columns that this package does not read: columns in lists and
// maps, and columns of types that contradict how they are stored.
func (f *File) Omitted() []string { return f.omitted }

// Types returns the types of the columns: text, integer, decimal or float.
func (f *File) Types() (types []string) {
	for _, l := range f.leaves {
		types = append(types, l.kind.name())
	}
	return types
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.file.RowGroups()) }

var errOffsets = errors.New("the footer has a column chunk outside the object")

// chunk returns the range of bytes of a column in a row group.
func (f *File) chunk(group, column int) (r Range, err error) {
	groups := f.file.Metadata().RowGroups
	if group >= len(groups) || column >= len(groups[group].Columns) {
		return r, errOffsets
	}
	if groups[group].Columns[column].CryptoMetadata.Value != nil {
		return r, errEncrypted
	}
	m := groups[group].Columns[column].MetaData
	r.From = m.DataPageOffset
	if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < r.From {
		r.From = m.DictionaryPageOffset
	}
	r.To = r.From + m.TotalCompressedSize
	if r.From < 0 || r.To < r.From || r.To > f.file.Size() {
		return r, errOffsets
	}
	return r, nil
}

// Offset returns the offset of the first byte of a row group.
func (f *File) Offset(group int) (int64, error) {
	first, err := f.chunk(group, 0)
	return first.From, err
}

// Chunks returns the ranges of bytes of some columns in a row group.
func (f *File) Chunks(group int, columns []int) (list []Range, err error) {
	for _, c := range columns {
		r, err := f.chunk(group, f.leaves[c].index)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
