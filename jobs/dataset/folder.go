package dataset

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/fxamacker/cbor/v2"

	"github.com/bellwether-compute/bellwether/jobs"
	"github.com/bellwether-compute/bellwether/jobs/dataset/parquet"
	"github.com/bellwether-compute/bellwether/jobs/internal/parameter"
)

// folder folds records into accumulators. Only one goroutine may use a folder, because a folder
// reuses its memory for each record.
type folder[A any] struct {
	layout *layout
	skip   bool // true if records with errors are skipped instead of failing the job
	leads  bool // true if the header of an object with comment lines is to come
	start  func() A
	fold   func(acc *A, r *Record) error
	bulk   func(acc *A, text []byte) (used int, records uint64) // function of the job's Bulk; nil if the job has no such function
	rec    *Record

	decoded  []byte                               // memory for a record in UTF-8 whose object has a charset
	bulkRows func(acc *A, rows *parquet.Rows) int // function of the job's BulkRows; nil if the job has no such function
	refuse   func(acc A) error                    // function of the job's Refuse; nil if the job has no such function

	variants []variant[A]            // what differs between objects with different columns, if columns are read by name; otherwise one
	headerOf func(object string) int // returns the index of the variant of an object; nil if columns are not read by name
}

// variant is the part of a folder that depends on the columns of an object.
type variant[A any] struct {
	layout   *layout
	rec      *Record
	bulk     func(acc *A, text []byte) (used int, records uint64)
	bulkRows func(acc *A, rows *parquet.Rows) int
}

// use makes the folder fold records of objects with the columns of a variant.
func (f *folder[A]) use(header int) {
	if header < len(f.variants) {
		v := f.variants[header]
		f.layout, f.rec, f.bulk, f.bulkRows = v.layout, v.rec, v.bulk, v.bulkRows
	}
}

// refused returns the error of the job's Refuse if it refuses each reading that may be right.
func (f *folder[A]) refused(readings []Reading[A]) (err error) {
	for _, r := range readings {
		if r.Fault != nil {
			continue
		}
		err = nil
		for _, acc := range r.Accs {
			err = cmp.Or(err, f.refuse(acc))
		}
		if err == nil {
			return nil
		}
	}
	return jobs.Permanent(err)
}

// record folds one record. It returns false for a header, a comment line, and an empty line that is not a record.
// If check is false, the caller knows that the text is UTF-8.
func (f *folder[A]) record(acc *A, object string, text []byte, offset int64, check bool) (bool, error) {
	r := f.rec
	if len(text) > maxRecord {
		return false, errLong
	}
	if err := f.layout.checkObject(text, offset); err != nil {
		return false, err
	}
	text = trim(text, offset)
	if is, err := f.layout.isComment(text); is {
		return false, err
	}
	header := f.isHeader(offset)
	if charset := f.layout.charset; charset != nil {
		f.decoded = charset.append(f.decoded[:0], text)
		text = f.decoded
	} else if check && !validUTF8(text) {
		if header {
			return false, fmt.Errorf("%w: %w", errHeader, errUTF8)
		}
		return false, errUTF8
	}
	if header {
		f.leads = false
		return false, r.checkHeader(text)
	}
	r.object, r.offset = object, offset
	counts, err := r.parse(text)
	if !counts || err != nil {
		return false, err
	}
	if err := f.fold(acc, r); err != nil {
		return false, err
	}
	return true, nil
}

// isHeader reports whether the record at an offset, which is no comment line, is the header.
func (f *folder[A]) isHeader(offset int64) bool {
	return f.leads || f.layout.comment == 0 && f.layout.isHeader(offset)
}

// setup contains the data that Merge and Finish need to fold a record. Each partial contains a
// setup, because Merge does not get the job's parameters. The encoding of a setup is followed by
// the CBOR of the types of columns and of the lists of columns, if there are any, by the ID of the output, if the job
// writes an output, and by the names of the omitted columns, each after a zero byte. If all columns of the path are wanted, two zero bytes and their names follow in the same form.
type setup struct {
	_ struct{} `cbor:",toarray"`

	Params  []byte // as encodeParams returns them
	Format  format
	Columns []string

	path  []string          // as in planData
	types map[string]string // as in Place

	headers [][]string // as in planData
}

// typesEncoding encodes the types of columns. Their order must be fixed, because neighbouring partials have the same setup.
var typesEncoding = func() cbor.EncMode {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		panic(err) // the options are valid
	}
	return mode
}()

// isArray reports whether the first byte of an item of CBOR is that of an array. It is never a byte of text.
func isArray(first byte) bool { return first>>5 == 4 }

// isMap reports whether the first byte of an item of CBOR is that of a map. It is never a byte of text.
func isMap(first byte) bool { return first>>5 == 5 }

// encodeParams returns the CBOR of parameters. Their order is that of the job's list, so that the bytes
// do not depend on the structs in which the parameters are declared.
func encodeParams(params any) ([]byte, error) {
	v := reflect.ValueOf(params)
	list, err := parameter.Fields(v.Type())
	if err != nil {
		return nil, err
	}
	if slices.IsSortedFunc(list, func(a, b parameter.Field) int { return slices.Compare(a.Index, b.Index) }) {
		return cbor.Marshal(params)
	}
	fields := make([]reflect.StructField, len(list))
	for i, f := range list {
		tag := reflect.StructTag(`json:"` + f.Parameter + `"`)
		if f.OmitEmpty() {
			tag = reflect.StructTag(`json:"` + f.Parameter + `,omitempty"`)
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: f.Type, Tag: tag}
	}
	ordered := reflect.New(reflect.StructOf(fields)).Elem()
	for i, f := range list {
		ordered.Field(i).Set(v.FieldByIndex(f.Index))
	}
	return cbor.Marshal(ordered.Interface())
}

// folders makes folders from setups, and keeps unused folders for the next record.
type folders[A any] struct {
	make func(s setup) (*folder[A], error)

	mu   sync.Mutex
	idle map[string][]*folder[A]
}

// maxSetups is the maximum number of setups whose folders are kept. Each running job has a
// different setup.
const maxSetups = 16

// get returns a folder for an encoded setup.
func (f *folders[A]) get(encoded []byte) (*folder[A], error) {
	f.mu.Lock()
	if list := f.idle[string(encoded)]; len(list) > 0 {
		last := list[len(list)-1]
		f.idle[string(encoded)] = list[:len(list)-1]
		f.mu.Unlock()
		return last, nil
	}
	f.mu.Unlock()
	s, _, _, err := decodeSetup(encoded)
	if err != nil {
		return nil, err
	}
	return f.make(s)
}

// decodeSetup returns a setup, the ID of the output, and the omitted columns.
func decodeSetup(encoded []byte) (s setup, outputID string, omitted []string, err error) {
	rest, err := cbor.UnmarshalFirst(encoded, &s)
	if err != nil {
		return s, "", nil, fmt.Errorf("decode setup: %w", err)
	}
	if len(rest) > 0 && isMap(rest[0]) {
		if rest, err = cbor.UnmarshalFirst(rest, &s.types); err != nil {
			return s, "", nil, fmt.Errorf("decode setup: %w", err)
		}
	}
	if len(rest) > 0 && isArray(rest[0]) {
		if rest, err = cbor.UnmarshalFirst(rest, &s.headers); err != nil {
			return s, "", nil, fmt.Errorf("decode setup: %w", err)
		}
	}
	names, path, hasPath := strings.Cut(string(rest), "\x00\x00")
	if hasPath {
		s.path = strings.Split(path, "\x00")
	}
	parts := strings.Split(names, "\x00")
	return s, parts[0], parts[1:], nil
}

// put takes back a folder that get returned.
func (f *folders[A]) put(encoded []byte, used *folder[A]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle == nil || len(f.idle) >= maxSetups {
		f.idle = map[string][]*folder[A]{}
	}
	f.idle[string(encoded)] = append(f.idle[string(encoded)], used)
}
