package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bellwether-compute/bellwether/jobs/dataset/member"
	"github.com/bellwether-compute/bellwether/jobs/internal/names"
)

// layout describes how the objects of a job are divided into records and fields. It is made from
// the job's Input and from the job's plan.
type layout struct {
	format    format
	delimiter byte
	quote     byte           // quote character; 0 if no character is a quote
	header    bool           // true if the record at offset 0 is the header
	checked   bool           // true if the header must equal columns
	columns   []string       // names of the columns for csv and tsv; "line" for lines
	wanted    []string       // names of the wanted columns of the objects; nil means all columns
	all       bool           // true if wanted contains all members of the first records of ndjson
	members   *member.Member // wanted members of ndjson
	path      []string       // names of the wanted columns of the objects' paths
	charset   *charset       // charset of the records; nil if they are UTF-8
	dialect                  // how the fields of csv and tsv are written
	order     []int          // the index of each of the job's columns in wanted, or -1 minus its index in path; nil if path is empty
}

// newLayout returns the layout of objects with columns. If wanted is nil, all columns are wanted, and those of the path.
func newLayout(in Input, f format, columns, wanted, path []string) *layout {
	l := &layout{format: f, columns: columns, wanted: wanted, charset: charsetOf(in)}
	switch {
	case wanted == nil && path != nil:
		l.appendPath(path)
	case wanted != nil && columns != nil:
		l.splitWanted()
	}
	if f == ndjson && wanted == nil && columns != nil {
		l.wanted, l.all = columns, true
	}
	if f == ndjson {
		l.members = member.New(l.wanted)
	}
	if f != csv && f != tsv {
		return l
	}
	l.delimiter = ','
	if f == tsv {
		l.delimiter = '\t'
	}
	if in.Delimiter != "" {
		l.delimiter = in.Delimiter[0]
	}
	if in.Quote != "" {
		l.quote = in.Quote[0]
	}
	l.header, l.checked = in.Header, in.Header && in.Names == ""
	l.dialect = newDialect(in, l.delimiter, l.quote)
	return l
}

// appendPath adds columns of the path after all columns of the objects.
func (l *layout) appendPath(path []string) {
	l.path, l.order = path, upTo(len(l.columns))
	for i := range path {
		l.order = append(l.order, -1-i)
	}
}

// splitWanted moves the wanted columns that the objects do not have to path. The plan has found them in the names of the
// objects.
func (l *layout) splitWanted() {
	have, wanted := names.Positions(l.columns), l.wanted
	l.wanted = []string{}
	for _, name := range wanted {
		if _, ok := have[name]; ok {
			l.order, l.wanted = append(l.order, len(l.wanted)), append(l.wanted, name)
			continue
		}
		l.path = append(l.path, name)
		l.order = append(l.order, -len(l.path))
	}
	if len(l.path) == 0 {
		l.order = nil
	}
}

// delimited reports whether the records of the format have named columns.
func (l *layout) delimited() bool {
	return l.format == csv || l.format == tsv || l.format.typed()
}

// column returns the name of a column for an error message.
func (l *layout) column(i int) string {
	names := l.columns
	if l.format == ndjson {
		names = l.wanted
	}
	if i < len(names) {
		return names[i]
	}
	return "line"
}

// want returns the index of each wanted column in Record.fields.
func (l *layout) want() ([]int, error) {
	all := l.columns
	if l.format == ndjson {
		all = l.wanted
	}
	if l.wanted == nil {
		return upTo(max(1, len(all))), checkNames(all, all)
	}
	if l.format != ndjson {
		if err := checkNames(all, l.wanted); err != nil {
			return nil, err
		}
	}
	var want []int
	positions := names.Positions(all)
	for _, name := range l.wanted {
		i, ok := positions[name]
		if !ok { // otherwise the column would be one of the path
			return nil, fmt.Errorf("there is no column %q, because all objects are empty: give the parameter names, or other objects", name)
		}
		want = append(want, i)
	}
	return want, nil
}

// checkNames returns an error if a wanted name is the name of two columns.
func checkNames(columns, wanted []string) error {
	positions := make(map[string]int, len(wanted))
	for _, name := range wanted {
		positions[name] = -1
	}
	for i, name := range columns {
		first, ok := positions[name]
		if ok && first >= 0 {
			return fmt.Errorf("columns %d and %d are both named %q: rename one of them, or for csv and tsv give the parameter names", first+1, i+1, name)
		}
		if ok {
			positions[name] = i
		}
	}
	return nil
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// newRecord returns a Record. Readers reuse a Record for each record.
func (l *layout) newRecord() (*Record, error) {
	want, err := l.want()
	if err != nil {
		return nil, err
	}
	r := &Record{layout: l, want: want, place: place{columns: l.path}}
	if l.format == ndjson {
		r.fields, r.seen, r.raw = make([]bound, max(1, len(l.wanted))), make([]bool, len(l.wanted)), make([]bool, len(l.wanted))
	} else {
		r.fields = make([]bound, max(1, len(l.columns)))
		r.wanted = l.firstWanted(want)
	}
	if l.decimal != 0 {
		r.numbers, r.noNumber = make([][]byte, len(want)), make([]bool, len(want))
	}
	return r, nil
}

// firstWanted returns the first wanted column from each column on, or a large number after the last one.
func (l *layout) firstWanted(want []int) []int {
	if l.spaces != "" { // the fields of all columns are trimmed
		want = upTo(len(l.columns))
	}
	first := slices.Repeat([]int{math.MaxInt}, len(l.columns))
	for _, i := range want {
		if 0 <= i && i < len(first) {
			first[i] = i
		}
	}
	for i := len(first) - 2; i >= 0; i-- {
		first[i] = min(first[i], first[i+1])
	}
	return first
}

// hasQuotes reports whether a text contains quotes that enclose fields.
func (l *layout) hasQuotes(text []byte) bool {
	return l.quote != 0 && bytes.IndexByte(text, l.quote) >= 0
}

// isHeader reports whether the record at an offset is the header.
func (l *layout) isHeader(offset int64) bool { return l.header && offset == 0 }

var byteOrderMark = []byte("\xef\xbb\xbf")

// trim removes the line end of a record, and the byte order mark at the beginning of an object.
func trim(text []byte, offset int64) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	if offset == 0 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	return text
}

// parse sets the record's fields from its text. It returns false for an empty line that is not a record.
// An empty line is a record in the format lines, and an empty field in csv and tsv of one column.
func (r *Record) parse(text []byte) (bool, error) {
	r.text, r.data = text, text
	switch r.layout.format {
	case lines:
		r.fields[0] = bound{0, len(text)}
		return true, nil
	case ndjson:
		if len(bytes.TrimLeft(text, " \t\r")) == 0 {
			return false, nil
		}
		return true, r.parseJSON()
	}
	if len(r.layout.columns) != 1 && len(bytes.Trim(text, r.layout.spaces)) == 0 {
		return false, nil
	}
	return true, r.split()
}

var (
	errCarriageReturns = errors.New("the lines end in carriage returns alone: convert the object, for example with tr '\\r' '\\n'")
	errUTF16           = errors.New("the text has zero bytes, as in UTF-16: for csv, tsv and lines give the parameter encoding=utf-16, or convert the object, for example with iconv -f UTF-16LE -t UTF-8, or -f UTF-16BE")
)

// checkObject returns an error if the first record of an object shows that the object has other line ends
// or another encoding. The text includes its line end.
func (l *layout) checkObject(text []byte, offset int64) error {
	switch {
	case offset > 0:
	case isUTF16(text):
		return errUTF16
	case (l.format == csv || l.format == tsv) && !l.hasQuotes(text) && bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(trim(text, 0), '\r') >= 0:
		return errCarriageReturns
	}
	return nil
}

// isUTF16 reports whether a text begins like ASCII text in UTF-16 without a byte order mark: every second of
// its first bytes is 0.
func isUTF16(text []byte) bool {
	text = text[:min(len(text), 16)&^1]
	for i := 0; i < len(text); i += 2 {
		if (text[i] == 0) == (text[i+1] == 0) || (text[i] == 0) != (text[0] == 0) {
			return false
		}
	}
	return len(text) > 0
}

// ofObject reports whether an error of a record is of the whole object, which fails a job also if it skips
// bad records.
func ofObject(err error) bool {
	return errors.Is(err, errHeader) || errors.Is(err, errCarriageReturns) || errors.Is(err, errUTF16) || errors.Is(err, errLong) || errors.Is(err, errComment)
}

// errHeader is the error for a header that differs from the header of the first object.
var errHeader = errors.New("the header differs from the header of the first object")

// checkHeader returns an error if a header differs from the header of the first object.
func (r *Record) checkHeader(text []byte) error {
	l := r.layout
	if !l.checked {
		return nil
	}
	columns, err := headerOf(l, text)
	if err != nil {
		return fmt.Errorf("%w: %w", errHeader, err)
	}
	if slices.Equal(columns, l.columns) {
		return nil
	}
	err = fmt.Errorf("%w: got %s, want %s", errHeader, names.List(columns), names.List(l.columns))
	for i := range min(len(columns), len(l.columns)) {
		if columns[i] != l.columns[i] {
			err = fmt.Errorf("%w; the first difference is in column %d: got %.80q, want %.80q", err, i+1, columns[i], l.columns[i])
			break
		}
	}
	return fmt.Errorf("%w; the parameter union=%s reads objects whose columns differ", err, byName)
}

// delimiterForExcel returns the delimiter in a first line such as sep=; which programs write for Excel.
func delimiterForExcel(text []byte) (delimiter string, ok bool) {
	delimiter, ok = strings.CutPrefix(strings.Trim(string(text), `"`), "sep=")
	return delimiter, ok && len(delimiter) == 1 && strings.ContainsAny(delimiter, ",;|\t:")
}

// headerOf returns the fields of a header. It is for the first header of a dataset, which
// determines the number of columns.
func headerOf(l *layout, text []byte) ([]string, error) {
	if len(text) == 0 {
		return nil, errors.New("the first line is empty: want the names of the columns, or the parameter header=false")
	}
	if d, ok := delimiterForExcel(text); ok {
		return nil, fmt.Errorf("the first line, %q, tells Excel the delimiter and is no header: remove the line, and give the parameter delimiter=%s", text, d)
	}
	open := *l
	open.columns, open.wanted = nil, nil
	r := &Record{layout: &open}
	r.text, r.data = text, text
	if err := r.split(); err != nil {
		return nil, err
	}
	var columns []string
	for _, b := range r.fields {
		columns = append(columns, string(r.data[b.lo:b.hi]))
	}
	return columns, nil
}
