package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// dialect is how the fields of csv and tsv are written. The empty dialect changes no field.
type dialect struct {
	nulls   [][]byte // fields that are missing values
	comment byte     // first character of lines that are not records; 0 if there are none
	spaces  string   // characters that do not belong to the beginning and the end of a field

	decimal   byte   // character before the decimals of numbers; 0 if numbers are written with a point and without groups
	thousands string // character between groups of three digits, or empty
	rewrites  bool   // true if nulls or the notation of numbers change fields
}

// newDialect returns the dialect of an input. The delimiter and the quote are no spaces.
func newDialect(in Input, delimiter, quote byte) (d dialect) {
	for null := range strings.SplitSeq(in.Null, ",") {
		if null = strings.TrimSpace(null); null != "" { // an empty field is a missing value without the parameter
			d.nulls = append(d.nulls, []byte(null))
		}
	}
	if in.Comment != "" {
		d.comment = in.Comment[0]
	}
	for _, c := range []byte{' ', '\t'} {
		if in.Trim && c != delimiter && c != quote {
			d.spaces += string(c)
		}
	}
	if in.decimal() != '.' || in.Thousands != "" {
		d.decimal, d.thousands = in.decimal(), in.Thousands
	}
	d.rewrites = d.nulls != nil || d.decimal != 0
	return d
}

// checkFormat returns an error if a parameter is given for a format that does not take it.
func (in Input) checkFormat(f format) error {
	if in.Encoding != "" && in.Encoding != utf8Encoding && f != csv && f != tsv && f != lines {
		return fmt.Errorf("parameter encoding: takes csv, tsv or lines, and the format of the input is %s: leave it out, or give the parameter format if the format is wrong", f)
	}
	if err := in.checkUnion(f); err != nil || f == csv || f == tsv {
		return err
	}
	for _, p := range []struct {
		name  string
		given bool
	}{{"null", in.Null != ""}, {"comment", in.Comment != ""}, {"trim", in.Trim}, {"decimal", in.Decimal != ""}, {"thousands", in.Thousands != ""}} {
		if p.given {
			return fmt.Errorf("parameter %s: takes csv or tsv, and the format of the input is %s: leave it out, or give the parameter format if the format is wrong", p.name, f)
		}
	}
	return nil
}

// isPlain reports whether the dialect changes no field and no record.
func (d *dialect) isPlain() bool { return !d.rewrites && d.comment == 0 && d.spaces == "" }

// isNull reports whether a field is a missing value.
func (d *dialect) isNull(field []byte) bool {
	for _, null := range d.nulls {
		if bytes.Equal(field, null) {
			return true
		}
	}
	return false
}

// errComment is the error for a comment line that would continue on the next line. It always fails the job, because
// the next lines may be records.
var errComment = errors.New("the comment line has an odd number of quotes, and quotes in it count as in other lines: remove a quote, or give the parameter quote, which is empty if quotes enclose no fields")

// isComment reports whether a record without its line end is a comment line. It returns an error for a record that only begins
// as a comment line.
func (l *layout) isComment(text []byte) (bool, error) {
	if l.comment == 0 || len(text) == 0 || text[0] != l.comment {
		return false, nil
	}
	if bytes.IndexByte(text, '\n') >= 0 {
		return true, errComment
	}
	return true, nil
}

// trimFields leaves out the spaces around the fields of a record without quotes.
func (r *Record) trimFields() {
	spaces := r.layout.spaces
	if spaces == "" {
		return
	}
	for i, b := range r.fields {
		right := bytes.TrimRight(r.data[b.lo:b.hi], spaces)
		r.fields[i] = bound{b.lo + len(right) - len(bytes.TrimLeft(right, spaces)), b.lo + len(right)}
	}
}
