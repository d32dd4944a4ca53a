package parquet

import (
	"errors"
	"io"
	"strings"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// File is an open Parquet object.
type File struct {
	file   *library.File
	size   int64  // size of the object
	leaves []leaf // columns of jobs
	memory memory

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
	if err := checkFooter(r, size); err != nil {
		return nil, err
	}
	file, err := openStrictly(r, size)
	if err != nil && strings.Contains(err.Error(), "signed footer") {
		return nil, errEncrypted
	}
	if err != nil {
		var lenient error
		if file, lenient = openLeniently(r, size); lenient != nil {
			return nil, err
		}
	}
	f = &File{file: file, size: size}
	nodes, err := schemaTree(file.Metadata().Schema)
	if err != nil {
		return nil, err
	}
	stored := storedLeaves(file)
	for _, top := range nodes {
		for _, n := range top.columns() {
			if l, ok := n.column(stored); ok {
				f.leaves = append(f.leaves, l)
			} else {
				f.omitted = append(f.omitted, n.path)
			}
		}
	}
	return f, nil
}

// storedLeaves returns the columns of an object that can be read, by their indices.
func storedLeaves(file *library.File) map[int]leaf {
	schema, stored := file.Schema(), map[int]leaf{}
	elements := leafElements(file.Metadata().Schema)
	for _, path := range schema.Columns() {
		if column, ok := schema.Lookup(path...); ok {
			if l, ok := newLeaf(strings.Join(path, "."), column, &elements[column.ColumnIndex]); ok {
				stored[column.ColumnIndex] = l
			}
		}
	}
	return stored
}

// leafElements returns the declarations of the columns. A column of bytes in a group of the type VARIANT
// gets this type, unless it has another one.
func leafElements(schema []format.SchemaElement) (leaves []format.SchemaElement) {
	var left []int32 // numbers of elements that follow in each of the groups around the element
	variant := 0     // number of the groups, from the outermost, up to the first group of the type VARIANT
	for _, e := range schema {
		for len(left) > 0 && left[len(left)-1] == 0 {
			left = left[:len(left)-1]
		}
		if variant > len(left) {
			variant = 0
		}
		if len(left) > 0 {
			left[len(left)-1]--
		}
		if !e.Type.Valid {
			left = append(left, e.NumChildren.V)
			if _, ok := e.LogicalType.Value.(*format.VariantType); ok && variant == 0 {
				variant = len(left)
			}
			continue
		}
		if variant > 0 && e.LogicalType.Value == nil && !e.ConvertedType.Valid && e.Type.V == format.ByteArray {
			e.LogicalType.Value = &format.VariantType{}
		}
		leaves = append(leaves, e)
	}
	return leaves
}

// UnreadableError is the error for an object that is not damaged, but that this package cannot read.
type UnreadableError struct{ text string }

func (e *UnreadableError) Error() string { return e.text }

var errEncrypted = &UnreadableError{"the object is encrypted, and encrypted Parquet cannot be read: write it without encryption"}

var errReader = &UnreadableError{"the reader of Parquet failed on the object, which is probably damaged: write it again, or check it with another program"}

// recoverTo turns a panic of the library into an error. The library panics if a part of an object refers
// to something that does not exist.
func recoverTo(err *error) {
	if recover() != nil {
		*err = errReader
	}
}

// Columns returns the names of the columns. The name of a column in a group contains the names of
// its groups, separated by dots. A list or a map is one column.
func (f *File) Columns() (names []string) {
	for _, l := range f.leaves {
		names = append(names, l.name)
	}
	return names
}

// Omitted returns the names of the columns that this package does not read: columns of types that contradict how they are
// stored, and lists and maps of them.
func (f *File) Omitted() []string { return f.omitted }

// Types returns the types of the columns: text, integer, decimal or float.
func (f *File) Types() (types []string) {
	for _, l := range f.leaves {
		types = append(types, l.kind.name())
	}
	return types
}

// Typed returns the types of the columns in an output that has their values.
func (f *File) Typed() (types []typed.Type) {
	for _, l := range f.leaves {
		types = append(types, l.typed())
	}
	return types
}

// Times returns an example of the texts of each column of dates, timestamps or times of day.
func (f *File) Times() map[string]string {
	examples := map[string]string{}
	for _, l := range f.leaves {
		switch l.kind {
		case date:
			examples[l.name] = "2026-11-22"
		case timestamp, julian:
			examples[l.name] = "2026-11-22T21:04:00Z"
		case timeOfDay:
			examples[l.name] = "21:04:00"
		}
	}
	return examples
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
	r.From = f.begin(group, column)
	r.To = r.From + groups[group].Columns[column].MetaData.TotalCompressedSize
	if r.From < 0 || r.To < r.From || r.To > f.size {
		return r, errOffsets
	}
	r.To = max(r.To, min(r.To+headerSize, f.begin(group, column+1)))
	return r, nil
}

// headerSize is the number of bytes by which a column chunk may be larger than the footer says. Old writers
// did not count the header of the dictionary.
const headerSize = 100

// begin returns the offset of a column chunk, or of the footer for the column after the last one.
func (f *File) begin(group, column int) int64 {
	groups := f.file.Metadata().RowGroups
	if column == len(groups[group].Columns) {
		group, column = group+1, 0
	}
	if group == len(groups) || column == len(groups[group].Columns) {
		return f.size
	}
	m := &groups[group].Columns[column].MetaData
	if m.DictionaryPageOffset > 0 {
		return min(m.DictionaryPageOffset, m.DataPageOffset)
	}
	return m.DataPageOffset
}

// Offset returns the offset of the first byte of a row group.
func (f *File) Offset(group int) (int64, error) {
	first, err := f.chunk(group, 0)
	return first.From, err
}

var errOverlap = errors.New("the footer has column chunks that overlap")

// Chunks returns the ranges of bytes of some columns in a row group. A list or a map may have several ranges.
func (f *File) Chunks(group int, columns []int) (list []Range, err error) {
	total, counted := int64(0), map[int]bool{}
	for _, c := range columns {
		for _, l := range f.leaves[c].stored() {
			r, err := f.chunk(group, l.index)
			if err != nil {
				return nil, err
			}
			if list = append(list, r); !counted[l.index] {
				counted[l.index] = true
				total += r.To - r.From - headerSize
			}
		}
	}
	if total > f.size {
		return nil, errOverlap
	}
	return list, nil
}
