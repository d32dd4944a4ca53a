package avro

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/dataset/exact"
	"github.com/bellwether-compute/bellwether/jobs/dataset/typed"
)

// wire determines how values of a type are stored.
type wire uint8

const (
	null wire = iota
	boolean
	integer // int
	long
	float
	double
	binary // bytes
	text   // string
	fixed
	enum
	record
	array
	mapping // map
	union
)

var primitives = map[string]wire{
	"null": null, "boolean": boolean, "int": integer, "long": long, "float": float, "double": double, "bytes": binary, "string": text,
}

// meaning is the meaning of the values of a type, if it has a logical type.
type meaning uint8

const (
	plain meaning = iota
	decimal
	date
	timeOfDay
	timestamp
	uuid
	duration
)

// typ is a type of a schema. A type that has a name may contain itself.
type typ struct {
	wire    wire
	meaning meaning
	fields  []field       // of a record
	symbols []string      // of an enum
	of      *typ          // items of an array, or values of a map
	union   []*typ        // branches of a union
	size    int           // of a fixed
	digits  int           // of a decimal: the largest number of digits
	scale   int           // of a decimal: the number of digits after the point
	unit    time.Duration // of a time
}

type field struct {
	name string
	typ  *typ
}

// parser parses a schema.
type parser struct{ names map[string]*typ }

// parseSchema parses a schema, which must be a record.
func parseSchema(text []byte) (*typ, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, damaged("the schema is not JSON: %v", err)
	}
	p := parser{names: map[string]*typ{}}
	t, err := p.parse(v, "")
	if err == nil && t.wire != record {
		err = fmt.Errorf("the schema is no record, so the object has no columns: want a record")
	}
	return t, err
}

// parse parses a type. Names without a namespace are in the given one.
func (p *parser) parse(v any, namespace string) (*typ, error) {
	switch v := v.(type) {
	case string:
		return p.named(v, namespace)
	case []any:
		t := &typ{wire: union}
		for _, branch := range v {
			b, err := p.parse(branch, namespace)
			if err != nil {
				return nil, err
			}
			if b.wire == union {
				return nil, damaged("the schema has a union in a union")
			}
			if slices.ContainsFunc(t.union, func(o *typ) bool { return o == b || o.wire == b.wire && !b.hasName() }) {
				return nil, damaged("the schema has a union with the same type twice")
			}
			t.union = append(t.union, b)
		}
		return t, nil
	case map[string]any:
		return p.object(v, namespace)
	}
	return nil, damaged("the schema has a type that is %.80q", fmt.Sprint(v))
}

// hasName reports whether several types of the kind may be in a union.
func (t *typ) hasName() bool { return t.wire == record || t.wire == enum || t.wire == fixed }

// named returns a primitive type, or a type that was declared before.
func (p *parser) named(name, namespace string) (*typ, error) {
	if w, ok := primitives[name]; ok {
		return &typ{wire: w}, nil
	}
	if t := p.names[fullName(name, namespace)]; t != nil {
		return t, nil
	}
	if t := p.names[name]; t != nil {
		return t, nil
	}
	return nil, damaged("the schema has no type %.80q", name)
}

// fullName returns a name with its namespace.
func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

// object parses a type that is declared by a JSON object.
func (p *parser) object(v map[string]any, namespace string) (t *typ, err error) {
	kind, ok := v["type"].(string)
	if !ok { // such as {"type": {"type": "array", …}}
		return p.parse(v["type"], namespace)
	}
	switch kind {
	case "record", "error", "enum", "fixed":
		return p.declare(kind, v, namespace)
	case "array":
		t = &typ{wire: array}
		t.of, err = p.parse(v["items"], namespace)
		return t, err
	case "map":
		t = &typ{wire: mapping}
		t.of, err = p.parse(v["values"], namespace)
		return t, err
	}
	if t, err = p.named(kind, namespace); err != nil {
		return nil, err
	}
	if _, ok := primitives[kind]; ok { // a named type has the meaning of its declaration, which may not have ended
		t.interpret(v)
	}
	return t, nil
}

// declare parses the declaration of a type with a name.
func (p *parser) declare(kind string, v map[string]any, namespace string) (*typ, error) {
	name, ok := v["name"].(string)
	if !ok {
		return nil, damaged("the schema has a %s without a name", kind)
	}
	if own, ok := v["namespace"].(string); ok {
		namespace = own
	}
	name = fullName(name, namespace)
	if p.names[name] != nil {
		return nil, damaged("the schema declares %.80q twice", name)
	}
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		namespace = name[:at]
	}
	t := &typ{}
	p.names[name] = t
	switch kind {
	case "enum":
		t.wire = enum
		list, _ := v["symbols"].([]any)
		for _, s := range list {
			symbol, ok := s.(string)
			if !ok {
				return nil, damaged("the enum %.80q has a symbol that is no text", name)
			}
			t.symbols = append(t.symbols, symbol)
		}
	case "fixed":
		size, ok := v["size"].(float64)
		if !ok || size < 0 || size > maxBlock {
			return nil, damaged("the fixed %.80q has the size %v", name, v["size"])
		}
		t.wire, t.size = fixed, int(size)
		t.interpret(v)
	default:
		t.wire = record
		return t, p.fields(t, name, v, namespace)
	}
	return t, nil
}

// fields parses the fields of a record.
func (p *parser) fields(t *typ, name string, v map[string]any, namespace string) error {
	list, ok := v["fields"].([]any)
	if !ok {
		return damaged("the record %.80q has no list of fields", name)
	}
	known := map[string]bool{}
	for _, one := range list {
		declared, _ := one.(map[string]any)
		f, ok := declared["name"].(string)
		if !ok || known[f] {
			return damaged("the record %.80q has a field without a name, or two fields %.80q", name, f)
		}
		known[f] = true
		of, err := p.parse(declared["type"], namespace)
		if err != nil {
			return err
		}
		t.fields = append(t.fields, field{f, of})
	}
	return nil
}

// units are the units of logical types by their endings.
var units = map[string]time.Duration{"millis": time.Millisecond, "micros": time.Microsecond, "nanos": time.Nanosecond}

// interpret sets the meaning of a type to that of its logical type. As Avro demands, it ignores logical types that are
// unknown or that do not fit.
func (t *typ) interpret(v map[string]any) {
	logical, _ := v["logicalType"].(string)
	kind, ending := logical, ""
	if at := strings.LastIndexByte(logical, '-'); at >= 0 {
		kind, ending = logical[:at], logical[at+1:]
	}
	unit := units[ending]
	switch {
	case logical == "decimal" && (t.wire == binary || t.wire == fixed):
		scale, _ := v["scale"].(float64)
		if precision, ok := v["precision"].(float64); ok && precision >= 1 && scale >= 0 && scale <= precision && scale <= exact.MaxDigits && scale == float64(int(scale)) {
			t.meaning, t.digits, t.scale = decimal, int(min(precision, math.MaxInt32)), int(scale)
		}
	case logical == "date" && t.wire == integer:
		t.meaning = date
	case kind == "time" && (t.wire == integer && ending == "millis" || t.wire == long && ending == "micros"):
		t.meaning, t.unit = timeOfDay, unit
	case (kind == "timestamp" || kind == "local-timestamp") && t.wire == long && unit > 0:
		t.meaning, t.unit = timestamp, unit
	case logical == "uuid" && (t.wire == text || t.wire == fixed && t.size == 16):
		t.meaning = uuid
	case logical == "duration" && t.wire == fixed && t.size == 12:
		t.meaning = duration
	}
}

// bare returns the type of the values of a union of null and one other type, and otherwise the type itself.
func (t *typ) bare() *typ {
	if t.wire != union {
		return t
	}
	var one *typ
	for _, b := range t.union {
		if b.wire == null {
			continue
		}
		if one != nil {
			return t
		}
		one = b
	}
	if one == nil {
		return t
	}
	return one
}

// typed returns the type of the values in an output that has them.
func (t *typ) typed() typed.Type {
	switch t.meaning {
	case decimal:
		if t.digits <= typed.MaxPrecision {
			return typed.NewDecimal(t.digits, t.scale)
		}
		return typed.Type{Kind: typed.Decimal}
	case date:
		return typed.Type{Kind: typed.Date}
	case timestamp:
		return typed.Type{Kind: typed.Timestamp, Nanoseconds: t.unit < time.Microsecond}
	case plain:
		switch t.wire {
		case boolean:
			return typed.Type{Kind: typed.Boolean}
		case integer, long:
			return typed.Type{Kind: typed.Integer}
		case float, double:
			return typed.Type{Kind: typed.Float}
		}
	}
	return typed.Type{}
}

// kind returns the name of the type for people: text, integer, decimal or float.
func (t *typ) kind() string {
	switch t = t.bare(); {
	case t.meaning == decimal:
		return "decimal"
	case t.meaning != plain:
		return "text"
	case t.wire == integer || t.wire == long:
		return "integer"
	case t.wire == float || t.wire == double:
		return "float"
	}
	return "text"
}
