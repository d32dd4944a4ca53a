package dataset

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// decimal returns the character before the decimals of numbers.
func (in Input) decimal() byte {
	if in.Decimal == "" {
		return '.'
	}
	return in.Decimal[0]
}

// checkNotation returns an error for parameters with which no number can be read.
func (in Input) checkNotation() error {
	if in.Decimal != "" && in.Decimal != "." && in.Decimal != "," {
		return fmt.Errorf("parameter decimal: got %q, takes a point or a comma", in.Decimal)
	}
	if in.Thousands == "" {
		return nil
	}
	c, size := utf8.DecodeRuneInString(in.Thousands)
	if size != len(in.Thousands) || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsControl(c) || c == '-' || c == '+' {
		return fmt.Errorf("parameter thousands: got %q, takes one character that is no letter, digit or sign, such as a comma, a point or a space", in.Thousands)
	}
	if in.Thousands == string(in.decimal()) {
		return fmt.Errorf("parameters decimal and thousands are both %q: want different characters, such as decimal=, and thousands=.", in.Thousands)
	}
	return nil
}

// appendNumber appends a field that is a number in the notation of the dialect as package exact reads it: with a point, and
// without characters between groups of digits. It returns false for another field.
func (d *dialect) appendNumber(to, field []byte) ([]byte, bool) {
	if len(field) > 0 && (field[0] == '-' || field[0] == '+') {
		to, field = append(to, field[0]), field[1:]
	}
	var exponent []byte
	if i := bytes.IndexAny(field, "eE"); i >= 0 {
		if field, exponent = field[:i], field[i:]; !isExponent(exponent) {
			return to, false
		}
	}
	whole, fraction, point := field, []byte(nil), bytes.IndexByte(field, d.decimal)
	if point >= 0 {
		whole, fraction = field[:point], field[point+1:]
	}
	if len(whole) == 0 && len(fraction) == 0 || !isDigits(fraction) {
		return to, false
	}
	to, ok := d.appendGroups(to, whole)
	if !ok {
		return to, false
	}
	if point >= 0 {
		to = append(append(to, '.'), fraction...)
	}
	return append(to, exponent...), true
}

// appendGroups appends the digits before the decimals. They are either all together, or in groups of three.
func (d *dialect) appendGroups(to, whole []byte) ([]byte, bool) {
	if isDigits(whole) {
		return append(to, whole...), true
	}
	const most = 3 // digits of a group
	for first := true; ; first = false {
		end := min(most, len(whole))
		if first && d.thousands != "" {
			end = bytes.Index(whole, []byte(d.thousands))
		}
		if end < 1 || end > most || !first && end < most || !isDigits(whole[:end]) {
			return to, false
		}
		to, whole = append(to, whole[:end]...), whole[end:]
		if len(whole) == 0 {
			return to, !first
		}
		rest, ok := bytes.CutPrefix(whole, []byte(d.thousands))
		if !ok || d.thousands == "" {
			return to, false
		}
		whole = rest
	}
}

func isDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isExponent reports whether a text that begins with e or E is an exponent.
func isExponent(text []byte) bool {
	digits := text[1:]
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	return len(digits) > 0 && isDigits(digits)
}

// rewrite returns the field of wanted column i of a csv or tsv record as a job gets it.
func (r *Record) rewrite(i int, field []byte) []byte {
	l := r.layout
	if l.isNull(field) {
		return nil
	}
	if l.decimal == 0 {
		return field
	}
	number, ok := l.appendNumber(r.numbers[i][:0], field)
	if r.numbers[i], r.noNumber[i] = number, !ok; ok {
		return number
	}
	return field
}

// isOther reports whether the field of wanted column i, which Field has returned, is no number in the notation of the
// dialect. It may be a number in another notation.
func (r *Record) isOther(i int) bool { return i >= 0 && r.noNumber != nil && r.noNumber[i] }

// NumberForm describes the numbers that fields can be, for an error message.
func (r *Record) NumberForm() string {
	switch l := r.layout; {
	case l.decimal == 0:
		return "a number"
	case l.thousands == "":
		return fmt.Sprintf("a number such as 1234%c5, by the parameter decimal", l.decimal)
	default:
		return fmt.Sprintf("a number such as 1%s234%c5, by the parameters decimal and thousands", l.thousands, l.decimal)
	}
}
