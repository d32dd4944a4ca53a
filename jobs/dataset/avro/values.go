package avro

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/form"
)

// values writes values as text.
type values struct {
	decoder
	cells   []cell
	out     []byte // texts of the current record
	scratch []byte
	bad     error // first value of the record that cannot be read as text
}

func (v *values) refuse(err error) {
	if v.bad == nil {
		v.bad = err
	}
}

// bound ends the reading if the texts of a record are too large. Long texts count as several values, because the names of fields
// take no bytes of the block.
func (v *values) bound(more int) {
	v.steps -= int64(more / bytesPerStep)
	if len(v.out)+more > maxText {
		v.fail(fmt.Errorf("the texts of a record have more than %d bytes, which is the limit: leave columns out", maxText))
	}
}

// text appends the value of a field. The type is not a union.
func (v *values) text(t *typ) {
	switch t.wire {
	case record, array, mapping:
		v.json(t)
	default:
		v.scalar(t)
	}
}

// scalar appends a value that is not null and consists of no other values.
func (v *values) scalar(t *typ) {
	switch t.wire {
	case boolean:
		v.out = strconv.AppendBool(v.out, v.boolean())
	case integer, long:
		n := v.long()
		if t.wire == integer && int64(int32(n)) != n {
			v.fail(errBlock)
		}
		v.number(t, n)
	case float:
		v.out = form.AppendFloat(v.out, v.float(), 32)
	case double:
		v.out = form.AppendFloat(v.out, v.double(), 64)
	case enum:
		symbol := v.symbol(t)
		v.bound(len(symbol))
		v.out = append(v.out, symbol...)
	case fixed:
		v.opaque(t, v.take(int64(t.size)))
	case binary, text:
		b := v.bytes()
		v.bound(len(b))
		if t.meaning == decimal {
			v.opaque(t, b)
			return
		}
		if !utf8.Valid(b) {
			v.refuse(fmt.Errorf("%.80q is not UTF-8, and string and bytes are read as text: leave the column out, for example with the parameter columns", b))
			b = nil
		}
		v.out = append(v.out, b...)
	}
}

// number appends an int or a long.
func (v *values) number(t *typ, n int64) {
	switch t.meaning {
	case date:
		v.out = form.AppendDate(v.out, n)
	case timeOfDay:
		v.out = form.AppendTimeOfDay(v.out, n, t.unit)
	case timestamp:
		v.out = form.AppendTime(v.out, n, t.unit)
	default:
		v.out = strconv.AppendInt(v.out, n, 10)
	}
}

// maxDecimal is the largest number of bytes of a decimal, which has at most exact.MaxDigits digits.
const maxDecimal = exact.MaxDigits/2 + 1

// opaque appends bytes that are not text.
func (v *values) opaque(t *typ, b []byte) {
	v.bound(2 * len(b))
	switch t.meaning {
	case decimal:
		if len(b) > maxDecimal {
			v.refuse(fmt.Errorf("a decimal has %d bytes, more than the limit of %d", len(b), maxDecimal))
			b = nil
		}
		n := exact.NewBig(signed(b), t.scale)
		v.out = append(v.out, n.String()...)
	case uuid:
		v.out = form.AppendUUID(v.out, b)
	case duration:
		v.out = form.AppendInterval(v.out, b)
	default:
		v.out = hex.AppendEncode(v.out, b)
	}
}

// signed returns the value of big-endian bytes in two's complement.
func signed(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// json appends a value as JSON.
func (v *values) json(t *typ) {
	v.bound(16)
	defer v.leave()
	if !v.enter() {
		return
	}
	switch t.wire {
	case null:
		v.out = append(v.out, "null"...)
	case union:
		if b := v.branch(t); b >= 0 {
			v.json(t.union[b])
		}
	case record:
		v.out = append(v.out, '{')
		for i := range t.fields {
			if i > 0 {
				v.out = append(v.out, ',')
			}
			v.bound(len(t.fields[i].name))
			v.out = append(form.AppendString(v.out, []byte(t.fields[i].name)), ':')
			v.json(t.fields[i].typ)
		}
		v.out = append(v.out, '}')
	case array:
		v.array(t)
	case mapping:
		v.mapping(t)
	default:
		begin := len(v.out)
		v.scalar(t)
		if !isNumber(t, v.out[begin:]) {
			v.scratch = append(v.scratch[:0], v.out[begin:]...)
			v.out = form.AppendString(v.out[:begin], v.scratch)
		}
	}
}

// isNumber reports whether a text of a type is a number or a boolean of JSON.
func isNumber(t *typ, text []byte) bool {
	switch t.wire {
	case boolean:
		return true
	case integer, long:
		return t.meaning == plain
	case float, double:
		f, err := strconv.ParseFloat(string(text), 64)
		return err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	return t.meaning == decimal
}

func (v *values) array(t *typ) {
	v.out = append(v.out, '[')
	for first := true; ; {
		n, _ := v.items()
		if n == 0 {
			break
		}
		for ; n > 0 && v.err == nil; n-- {
			if !first {
				v.out = append(v.out, ',')
			}
			first = false
			v.json(t.of)
		}
	}
	v.out = append(v.out, ']')
}

var errKey = errors.New("a map has a key twice, or a key that is not UTF-8")

// mapping appends a map, whose keys it sorts.
func (v *values) mapping(t *typ) {
	v.out = append(v.out, '{')
	begin := len(v.out)
	var members []form.Member
	for {
		n, _ := v.items()
		if n == 0 {
			break
		}
		for ; n > 0 && v.err == nil; n-- {
			m := form.Member{Key: v.bytes(), Lo: len(v.out)}
			v.bound(len(m.Key))
			if !utf8.Valid(m.Key) {
				v.refuse(errKey)
			}
			v.out = append(form.AppendString(v.out, m.Key), ':')
			v.json(t.of)
			m.Hi = len(v.out)
			members = append(members, m)
		}
	}
	var distinct bool
	if v.out, distinct = form.SortMembers(v.out, begin, members); !distinct {
		v.refuse(errKey)
	}
	v.out = append(v.out, '}')
}
