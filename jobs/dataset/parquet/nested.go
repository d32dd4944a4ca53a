package parquet

import (
	"errors"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// shape says what a node of the schema is.
type shape uint8

const (
	single    shape = iota // column of the object
	structure              // group of members
	list                   // repeated items
	mapping                // repeated keys and values
)

// schemaNode is a node of the schema, and what of it is written as JSON. Levels are those of Dremel: a value has as many
// definition levels as there are optional and repeated nodes on the path to it.
type schemaNode struct {
	name  string
	path  string
	shape shape

	bare     bool // a list without a group around it that says so
	nullable bool
	level    int // definition level of a value that is not null
	repeated int // for a list or mapping, the repetition level of the items after the first one
	filled   int // for a list or mapping, the definition level of an item
	below    []*schemaNode
	leaf     int // for a single, the index of the column in the object
}

// tree builds nodes from the elements of a schema, which are in depth-first order.
type tree struct {
	rest   []format.SchemaElement
	leaves int // number of columns before the next element
	bad    bool
}

var errSchema = errors.New("the schema of the footer is damaged")

// maxNested is the largest number of groups around a column.
const maxNested = 200

// schemaTree returns the nodes below the root of a schema.
func schemaTree(schema []format.SchemaElement) ([]*schemaNode, error) {
	if len(schema) == 0 {
		return nil, errSchema
	}
	t := &tree{rest: schema}
	root := t.take()
	nodes := t.children(root, "", 0, 0, 0)
	if t.bad {
		return nil, errSchema
	}
	return nodes, nil
}

func (t *tree) take() (e format.SchemaElement) {
	if len(t.rest) == 0 {
		t.bad = true
		return e
	}
	e, t.rest = t.rest[0], t.rest[1:]
	return e
}

// children returns the nodes of the children of a group, which has definition and repetition levels.
func (t *tree) children(group format.SchemaElement, path string, level, repetition, depth int) (nodes []*schemaNode) {
	if t.bad = t.bad || depth > maxNested; t.bad {
		return nil
	}
	for range group.NumChildren.V {
		if t.bad {
			break
		}
		nodes = append(nodes, t.node(path, level, repetition, depth+1))
	}
	return nodes
}

// node returns the node of the next element.
func (t *tree) node(path string, level, repetition, depth int) *schemaNode {
	e := t.take()
	n := &schemaNode{name: e.Name, path: e.Name}
	if path != "" {
		n.path = path + "." + e.Name
	}
	repeats := e.RepetitionType.Valid && e.RepetitionType.V == format.Repeated
	n.nullable = e.RepetitionType.Valid && e.RepetitionType.V == format.Optional
	if n.nullable || repeats {
		level++
	}
	if repeats {
		repetition++
	}
	n.level = level
	if e.Type.Valid {
		n.leaf = t.leaves
		t.leaves++
	} else {
		n.shape = structure
		n.below = t.children(e, n.path, level, repetition, depth)
	}
	if repeats { // the items of a list; a group around it may say that it is a list or a map
		return &schemaNode{name: n.name, path: n.path, shape: list, bare: true, level: level - 1, repeated: repetition, filled: level, below: []*schemaNode{n}}
	}
	if n.shape == structure && len(n.below) == 1 && n.below[0].bare {
		n.annotate(e)
	}
	return n
}

// annotate makes a list or a mapping of a group with one repeated child, if the type of the group says so.
func (n *schemaNode) annotate(e format.SchemaElement) {
	items := n.below[0]
	item := items.below[0]
	isList, isMap := false, false
	switch e.LogicalType.Value.(type) {
	case *format.ListType:
		isList = true
	case *format.MapType:
		isMap = true
	}
	if e.ConvertedType.Valid {
		isList = isList || e.ConvertedType.V == deprecated.List
		isMap = isMap || e.ConvertedType.V == deprecated.Map || e.ConvertedType.V == deprecated.MapKeyValue
	}
	switch {
	case isMap && item.shape == structure && len(item.below) == 2 && item.below[0].shape == single:
		n.shape, n.below = mapping, item.below
	case isList || isMap:
		// Writers of the current form have a group of one member around each item. Older ones have the item itself.
		if isList && item.shape == structure && len(item.below) == 1 && !item.below[0].bare && item.name != "array" && item.name != n.name+"_tuple" {
			item = item.below[0]
		}
		n.shape, n.below = list, []*schemaNode{item}
	default:
		return
	}
	n.repeated, n.filled = items.repeated, items.filled
}

// columns returns the nodes that are columns for jobs: the singles and, of what repeats, the outermost lists and mappings.
func (n *schemaNode) columns() (list []*schemaNode) {
	if n.shape != structure {
		return []*schemaNode{n}
	}
	for _, below := range n.below {
		list = append(list, below.columns()...)
	}
	return list
}

// singles returns the columns of the object in a node, in their order.
func (n *schemaNode) singles() (list []*schemaNode) {
	if n.shape == single {
		return []*schemaNode{n}
	}
	for _, below := range n.below {
		list = append(list, below.singles()...)
	}
	return list
}

// first returns the first column of the object in a node, or nil for a group without members.
func (n *schemaNode) first() *schemaNode {
	if n.shape == single {
		return n
	}
	for _, below := range n.below {
		if first := below.first(); first != nil {
			return first
		}
	}
	return nil
}

// column returns the column of jobs that is a node, or false if a column of the object in it cannot be read.
func (n *schemaNode) column(stored map[int]leaf) (leaf, bool) {
	if n.shape == single {
		l, ok := stored[n.leaf]
		return l, ok
	}
	l := leaf{name: n.path, typ: "list or map", node: n}
	for _, part := range n.singles() {
		p, ok := stored[part.leaf]
		if !ok {
			return l, false
		}
		l.parts = append(l.parts, p)
	}
	return l, len(l.parts) > 0
}
