package parquet

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"time"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/form"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// leaf is a column of the object, or of jobs, which may consist of several columns of the object.
type leaf struct {
	name  string
	typ   string // name of the type in the object, for an error message
	index int
	level int // definition level of a value that is not null
	deep  int // repetition level of a value after the first one in the innermost list
	kind  kind
	scale int           // scale of a decimal
	most  int           // number of digits of a decimal
	unit  time.Duration // unit of a time

	node  *schemaNode // list or map whose JSON is the value of the column; nil for another column
	parts []leaf      // columns of the object in the node
}

// stored returns the columns of the object of which the column consists.
func (l *leaf) stored() []leaf {
	if l.node != nil {
		return l.parts
	}
	return []leaf{*l}
}

// kind determines how the values of a column are converted to text.
type kind uint8

const (
	text kind = iota
	boolean
	integer32
	integer64
	unsigned32
	unsigned64
	float32bits
	float64bits
	decimal32
	decimal64
	decimalBytes
	date
	timestamp
	timeOfDay
	julian // julian is a timestamp of 96 bits
	uuid
	float16bits
	interval
	blob // blob is bytes that no type says to be text
)

// name returns the name of the type of a kind's values.
func (k kind) name() string {
	switch k {
	case integer32, integer64, unsigned32, unsigned64:
		return "integer"
	case decimal32, decimal64, decimalBytes:
		return "decimal"
	case float16bits, float32bits, float64bits:
		return "float"
	}
	return "text"
}

// typed returns the type of the column in an output that has the values of the column.
func (l *leaf) typed() typed.Type {
	switch l.kind {
	case boolean:
		return typed.Type{Kind: typed.Boolean}
	case integer32, integer64, unsigned32:
		return typed.Type{Kind: typed.Integer}
	case unsigned64:
		return typed.NewDecimal(len("18446744073709551615"), 0)
	case float16bits, float32bits, float64bits:
		return typed.Type{Kind: typed.Float}
	case decimal32, decimal64, decimalBytes:
		if l.most >= 1 && l.most <= typed.MaxPrecision && l.scale <= l.most {
			return typed.NewDecimal(l.most, l.scale)
		}
		return typed.Type{Kind: typed.Decimal}
	case date:
		return typed.Type{Kind: typed.Date}
	case timestamp:
		return typed.Type{Kind: typed.Timestamp, Nanoseconds: l.unit < time.Microsecond}
	case julian:
		return typed.Type{Kind: typed.Timestamp, Nanoseconds: true}
	}
	return typed.Type{}
}

// kinds are the kinds of a type's values by the physical types that store them.
type kinds map[library.Kind]kind

var (
	physical = kinds{
		library.Boolean: boolean, library.Int32: integer32, library.Int64: integer64, library.Int96: julian,
		library.Float: float32bits, library.Double: float64bits, library.FixedLenByteArray: blob, library.ByteArray: text,
	}
	decimals  = kinds{library.Int32: decimal32, library.Int64: decimal64, library.ByteArray: decimalBytes, library.FixedLenByteArray: decimalBytes}
	unsigned  = kinds{library.Int32: unsigned32, library.Int64: unsigned64}
	times     = kinds{library.Int32: timeOfDay, library.Int64: timeOfDay}
	blobs     = kinds{library.ByteArray: blob, library.FixedLenByteArray: blob}
	intervals = kinds{library.FixedLenByteArray: interval}
)

// newLeaf describes a column, which the element of the schema declares. newLeaf returns false for a type
// that this package does not read.
func newLeaf(name string, c library.LeafColumn, element *format.SchemaElement) (leaf, bool) {
	t := c.Node.Type()
	l := leaf{name: name, typ: t.Kind().String(), index: c.ColumnIndex, level: c.MaxDefinitionLevel, deep: c.MaxRepetitionLevel}
	logical := t.LogicalType()
	if logical == nil && element.LogicalType.Value != nil { // the library does not know the type
		logical = &element.LogicalType
	}
	all := physical
	switch {
	case element.ConvertedType.Valid && element.ConvertedType.V == deprecated.Interval:
		all = intervals
	case logical != nil:
		l.typ = logical.String()
		all = l.logical(logical.Value)
	}
	var known bool
	l.kind, known = all[t.Kind()]
	return l, known && l.scale >= 0 && l.scale <= exact.MaxDigits
}

// logical returns the kinds of a logical type, and sets the scale or the unit of its values.
func (l *leaf) logical(typ any) kinds {
	switch t := typ.(type) {
	case *format.DecimalType:
		l.scale, l.most = int(t.Scale), int(t.Precision)
		return decimals
	case *format.DateType:
		return kinds{library.Int32: date}
	case *format.TimestampType:
		l.unit = t.Unit.Value.Duration()
		return kinds{library.Int64: timestamp}
	case *format.TimeType:
		l.unit = t.Unit.Value.Duration()
		return times
	case *format.UUIDType:
		return kinds{library.FixedLenByteArray: uuid}
	case *format.IntType:
		if !t.IsSigned {
			return unsigned
		}
	case *format.Float16Type:
		return kinds{library.FixedLenByteArray: float16bits}
	case *format.BsonType, *format.VariantType, *format.GeometryType, *format.GeographyType:
		return blobs
	}
	return physical
}

// append appends a value as text.
func (l *leaf) append(b []byte, v *library.Value) []byte {
	switch l.kind {
	case boolean:
		return strconv.AppendBool(b, v.Boolean())
	case integer32:
		return strconv.AppendInt(b, int64(v.Int32()), 10)
	case integer64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case unsigned32:
		return strconv.AppendUint(b, uint64(v.Uint32()), 10)
	case unsigned64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case float32bits:
		return form.AppendFloat(b, float64(v.Float()), 32)
	case float64bits:
		return form.AppendFloat(b, v.Double(), 64)
	case decimal32, decimal64, decimalBytes:
		var n exact.Number
		l.number(v, &n)
		return append(b, n.String()...)
	case date:
		return form.AppendDate(b, int64(v.Int32()))
	case timestamp:
		return form.AppendTime(b, v.Int64(), l.unit)
	case timeOfDay:
		n := v.Int64()
		if v.Kind() == library.Int32 {
			n = int64(v.Int32())
		}
		return form.AppendTimeOfDay(b, n, l.unit)
	case julian:
		const epoch = 2440588 // the Julian day of 1 January 1970
		bits := v.Int96()
		days := int64(bits[2]) - epoch
		return time.Unix(days*86400, int64(bits[0])|int64(bits[1])<<32).UTC().AppendFormat(b, time.RFC3339Nano)
	case float16bits:
		return form.AppendFloat(b, float64(float16(v.ByteArray())), 32)
	case interval:
		return form.AppendInterval(b, v.ByteArray())
	case blob:
		return hex.AppendEncode(b, v.ByteArray())
	case uuid:
		return form.AppendUUID(b, v.ByteArray())
	}
	return append(b, v.ByteArray()...)
}

// appendJSON appends a value as JSON.
func (l *leaf) appendJSON(b []byte, v *library.Value) []byte {
	if l.kind == text {
		return form.AppendString(b, v.ByteArray())
	}
	begin := len(b)
	b = l.append(b, v)
	if l.isNumber(v) {
		return b
	}
	return form.AppendString(b[:begin], []byte(string(b[begin:])))
}

// isNumber reports whether the text of a value is a number or a boolean of JSON.
func (l *leaf) isNumber(v *library.Value) bool {
	switch l.kind {
	case float32bits, float64bits, float16bits:
		f := v.Double()
		if l.kind == float32bits {
			f = float64(v.Float())
		}
		if l.kind == float16bits {
			f = float64(float16(v.ByteArray()))
		}
		return !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	return l.kind == boolean || l.kind.name() != "text"
}

// float16 returns the value of a float of 16 bits. It returns NaN for other sizes.
func float16(b []byte) float32 {
	if len(b) != 2 {
		return float32(math.NaN())
	}
	bits := binary.LittleEndian.Uint16(b)
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	f := math.Ldexp(1+fraction/1024, exponent-15)
	switch {
	case exponent == 0:
		f = math.Ldexp(fraction/1024, -14)
	case exponent == 31 && fraction == 0:
		f = math.Inf(1)
	case exponent == 31:
		f = math.NaN()
	}
	if bits>>15 == 1 {
		f = -f
	}
	return float32(f)
}

// number sets n to a value, and returns false if the value is not a number.
func (l *leaf) number(v *library.Value, n *exact.Number) bool {
	switch l.kind {
	case integer32:
		*n = exact.Number{Mantissa: int64(v.Int32())}
	case unsigned32:
		*n = exact.Number{Mantissa: int64(v.Uint32())}
	case integer64:
		*n = exact.New(v.Int64(), 0)
	case decimal32:
		*n = exact.New(int64(v.Int32()), l.scale)
	case decimal64:
		*n = exact.New(v.Int64(), l.scale)
	case decimalBytes:
		*n = exact.NewBig(signed(v.ByteArray()), l.scale)
	case float64bits:
		f := v.Double()
		if short(f, n) {
			return true
		}
		return n.Parse(form.AppendFloat(nil, f, 64))
	case unsigned64, float16bits, float32bits:
		return n.Parse(l.append(nil, v))
	case text:
		return n.Parse(v.ByteArray())
	default:
		return false
	}
	return true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}

// short sets n to the shortest decimal of a float if the decimal has few digits. A float has at
// most one decimal of up to 15 digits.
func short(f float64, n *exact.Number) bool {
	for scale, power := range powers {
		if m := math.RoundToEven(f * power); math.Abs(m) < 1e15 && m/power == f {
			*n = exact.Number{Mantissa: int64(m), Scale: scale}
			return true
		}
	}
	return false
}

// signed returns the value of big-endian bytes in two's complement.
func signed(b []byte) *big.Int {
	if len(b) > 0 && len(b) <= 8 {
		var x [8]byte
		if b[0] >= 0x80 {
			binary.BigEndian.PutUint64(x[:], math.MaxUint64)
		}
		copy(x[8-len(b):], b)
		return big.NewInt(int64(binary.BigEndian.Uint64(x[:])))
	}
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}
