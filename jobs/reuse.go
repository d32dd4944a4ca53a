package jobs

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Keyer is an optional interface of a [Mapper] whose partials later jobs may reuse although the plan has
// changed, for example because a file was added to the input. Key returns the input of a partition: all
// that the partition's value depends on, apart from the definition's name and version, the parameters and
// the build of the program. The key of a partition is the hash of all these. Partitions with the same key
// must have the same value, encoded to the same bytes, in every job and at every index. The key should
// therefore not contain the index, unless Map uses it:
//
//	func (m mapper) Key(_ context.Context, partition uint64) []byte {
//		file := m.files[partition]
//		return fmt.Appendf(nil, "%s %s", file.Name, file.ETag)
//	}
//
// If Key returns nil, the partition is computed in every job, for example because its input may change
// without a trace. Key may be called from several goroutines. It should take microseconds, because it is
// called for each partition.
//
// Without a Keyer, a partition depends on its index and on the whole plan. Its partial is then reused
// only by a job with the same parameters and the same plan.
type Keyer interface {
	Key(ctx context.Context, partition uint64) []byte
}

// Reuse, Kept, KeptPartial, Key and Reused are the types that [Local] and [LocalResult] use.
type (
	Reuse       = engine.Reuse
	Kept        = engine.Kept
	KeptPartial = engine.KeptPartial
	Key         = engine.Key
	Reused      = engine.Reused
)

// maxLevel is the level of the root of the largest tree.
const maxLevel = 62

// reuser finds kept partials for the stacks of a task, and keeps new partials.
type reuser struct {
	Reuse
	input     func(ctx context.Context, partition uint64) []byte
	estimates bool // true if the job's prefixes are judged

	sizes [maxLevel + 1]atomic.Int64 // by the level of a full tree: size in bytes of the partial that was read or encoded last, or 0

	mu   sync.Mutex
	list []reusedNode
}

// reusedNode is what a job has reused with one node.
type reusedNode struct {
	lo uint64 // first partition of the node
	Reused
}

// reused returns what the job has reused with nodes that begin below a partition.
func (r *reuser) reused(below uint64) (sum Reused) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.list {
		if n.lo < below {
			sum.Partitions += n.Partitions
			sum.Work += n.Work
		}
	}
	return sum
}

// newReuser returns the reuser of a task with a mapper and a plan.
func newReuser(r Reuse, mapper any, plan Plan) *reuser {
	if keyer, ok := mapper.(Keyer); ok {
		return &reuser{Reuse: r, input: keyer.Key}
	}
	prefix := engine.NewKey([]byte("plan"), plan.Data)
	return &reuser{Reuse: r, input: func(_ context.Context, partition uint64) []byte {
		b := binary.BigEndian.AppendUint64(slices.Clone(prefix[:]), plan.Partitions)
		return binary.BigEndian.AppendUint64(b, partition)
	}}
}

// key returns the key of a partition.
func (r *reuser) key(ctx context.Context, partition uint64) Key {
	input := r.input(ctx, partition)
	if input == nil {
		return Key{}
	}
	return engine.NewKey([]byte("partition"), r.Family[:], input)
}

// keptNode is a node whose partial is probably kept.
type keptNode struct {
	node engine.Node
	span engine.Span
	key  Key
}

// find returns the largest nodes within a span whose partials are probably kept, in order. It needs
// memory only for these nodes. If the job has estimates, a node must not contain the end of a rung. If the span is
// the span of a node, find also returns the node's key.
func (r *reuser) find(ctx context.Context, tree engine.Tree, span engine.Span) (found []keptNode, key Key) {
	key = r.walk(ctx, tree, span, func(block []keptNode) {
		begin := len(found)
		for i := len(block) - 1; i >= 0; i-- {
			n := block[i]
			if inFound := len(found) > begin && found[len(found)-1].span.Lo <= n.span.Lo; !inFound && r.Kept.Has(n.key) {
				for begin > 0 && found[begin-1].span.Lo >= n.span.Lo { // an earlier block is in this node
					found, begin = found[:begin-1], begin-1
				}
				found = append(found, n)
			}
		}
		slices.Reverse(found[begin:])
	})
	return found, key
}

// lowest returns the kept nodes that contain no other kept node, in order.
func (r *reuser) lowest(ctx context.Context, tree engine.Tree) (found []keptNode) {
	r.walk(ctx, tree, engine.Span{Hi: tree.Partitions()}, func(block []keptNode) {
		for _, n := range block {
			if (len(found) == 0 || found[len(found)-1].span.Lo < n.span.Lo) && r.Kept.Has(n.key) {
				found = append(found, n)
			}
		}
	})
	return found
}

// blockLevel is the level of the nodes whose keys walk collects before it passes them on. If such a node is kept, find looks
// for none of the nodes below, and each lookup may be a miss of the processor's cache.
const blockLevel = 8

// walk calls take with the nodes within a span that may be kept, block by block. Each node comes after the nodes below it. It
// returns the key of the span, if the span is the span of a node.
func (r *reuser) walk(ctx context.Context, tree engine.Tree, span engine.Span, take func(block []keptNode)) Key {
	type open struct {
		node engine.Node
		key  Key
	}
	var stack []open
	var block []keptNode
	visit := func(n engine.Node, key Key) {
		covers := tree.Span(n)
		if key != (Key{}) && !(r.estimates && engine.LastRung(covers.Hi) > covers.Lo) {
			block = append(block, keptNode{n, covers, key})
		}
		if n.Level >= blockLevel {
			take(block)
			block = block[:0]
		}
	}
	for partition := span.Lo; partition < span.Hi && ctx.Err() == nil; partition++ {
		n, key := tree.Lift(engine.Leaf(partition)), r.key(ctx, partition)
		visit(n, key)
		for top := len(stack) - 1; top >= 0 && n.IsRight() && stack[top].node == n.Sibling(); top-- {
			n, key = tree.Lift(n.Parent()), engine.KeyOf(stack[top].key, key)
			stack = stack[:top]
			visit(n, key)
		}
		stack = append(stack, open{n, key})
	}
	take(block)
	if ctx.Err() != nil || len(stack) != 1 {
		return Key{}
	}
	return stack[0].key
}

// check reads the kept nodes above a level. In place of a node that cannot be read it returns the nodes
// below.
func (r *reuser) check(ctx context.Context, tree engine.Tree, found []keptNode, level uint8) (checked []keptNode) {
	for _, f := range found {
		if f.node.Level > level {
			if _, ok := r.Kept.Get(ctx, f.key); !ok {
				below, _ := r.find(ctx, tree, f.span)
				checked = append(checked, r.check(ctx, tree, below, level)...)
				continue
			}
		}
		checked = append(checked, f)
	}
	return checked
}

// mark is what a stack knows about a node if partials are reused.
type mark struct {
	key  Key
	work time.Duration // duration of all calls of Map for the node's partitions
	kept int           // level of the highest kept node that the node contains, or -1
}

// merged returns the mark of the node whose children have the marks left and right.
func merged(left, right mark) mark {
	return mark{engine.KeyOf(left.key, right.key), left.work + right.work, max(left.kept, right.kept)}
}

// keptEvery is the distance of the levels whose nodes are kept. The lowest nodes that are worth their
// bytes are kept, because only they are found after partitions were inserted before them. Above them a
// sixteenth of the nodes is kept, which saves most reads and merges.
const keptEvery = 4

// keep keeps the partial of a node, if it is worth its bytes. The value stays unchanged.
func (o *opened[T]) keep(ctx context.Context, n engine.Node, value T, m *mark) {
	r, level, partitions := o.reuse, int(n.Level), o.tree.Span(n).Len()
	size := &r.sizes[bits.Len64(partitions-1)] // the last partition alone may be a node of a high level
	switch {
	case m.key == (Key{}), m.kept >= 0 && level < m.kept+keptEvery && n != o.tree.Root(), !o.worthKeeping(level, size.Load(), m.work):
		return
	case r.Kept.Has(m.key):
		m.kept = level
		return
	}
	data, err := o.codec.Encode(value)
	if err != nil {
		return // the job fails with this error when the partial is reported
	}
	if size.Store(int64(len(data))); !o.worthKeeping(level, size.Load(), m.work) {
		return
	}
	r.Kept.Keep(ctx, m.key, KeptPartial{Data: data, Partitions: partitions, Work: m.work})
	m.kept = level
}

// drainedFactor is how much less work by byte a drained node must stand for than other nodes to be kept.
const drainedFactor = 32

// keepDrained keeps a node that leaves the stack before it was worth its bytes. Otherwise a slot that often reports
// would leave gaps between the kept nodes. The data stays unchanged.
func (o *opened[T]) keepDrained(n engine.Node, data []byte, m mark) {
	if m.kept < 0 && m.key != (Key{}) && o.worthKeeping(int(n.Level), int64(len(data)), drainedFactor*m.work) && !o.reuse.Kept.Has(m.key) {
		p := KeptPartial{Data: bytes.Clone(data), Partitions: o.tree.Span(n).Len(), Work: m.work}
		o.reuse.Kept.Keep(context.Background(), m.key, p)
	}
}

// worthKeeping reports whether a partial is worth its bytes, and all partials of its level fit in the limit.
// Otherwise partials that were kept earlier would be dropped before a later job can reuse them.
func (o *opened[T]) worthKeeping(level int, bytes int64, work time.Duration) bool {
	nodes := float64(o.tree.Partitions() >> level)
	return engine.WorthKeeping(int(bytes), work) && (o.reuse.Limit == 0 || float64(bytes)*nodes <= float64(o.reuse.Limit))
}

// read returns the value of a kept node and its mark. It returns false if the partial is missing or
// damaged.
func (o *opened[T]) read(ctx context.Context, f keptNode) (value T, m mark, ok bool) {
	p, ok := o.reuse.Kept.Get(ctx, f.key)
	if !ok || p.Partitions != f.span.Len() {
		return value, m, false
	}
	value, err := o.codec.Decode(p.Data)
	if err != nil {
		return value, m, false
	}
	o.reuse.sizes[bits.Len64(p.Partitions-1)].Store(int64(len(p.Data)))
	o.reuse.mu.Lock()
	o.reuse.list = append(o.reuse.list, reusedNode{f.span.Lo, Reused{Partitions: p.Partitions, Work: p.Work}})
	o.reuse.mu.Unlock()
	return value, mark{f.key, p.Work, int(f.node.Level)}, true
}

// runReusing is like compute, but takes the kept partials of found nodes. The nodes must be in order.
func (s *stack[T]) runReusing(ctx context.Context, hi uint64, found []keptNode, stop *atomic.Bool) error {
	first, _ := slices.BinarySearchFunc(found, s.next, func(f keptNode, next uint64) int {
		if f.span.Lo < next {
			return -1
		}
		return 1
	})
	for _, f := range found[first:] {
		if f.span.Hi > hi {
			break
		}
		if err := s.compute(ctx, f.span.Lo, stop); err != nil || s.next < f.span.Lo || stop.Load() {
			return err
		}
		value, m, ok := s.read(ctx, f)
		if !ok {
			if err := s.runReusing(ctx, f.span.Hi, s.below(ctx, f), stop); err != nil || s.next < f.span.Hi {
				return err
			}
			continue
		}
		s.mark = m
		if err := s.push(ctx, f.node, value); err != nil {
			return err
		}
		s.next = f.span.Hi
	}
	return s.compute(ctx, hi, stop)
}

// below returns the kept nodes below a node whose partial cannot be read.
func (s *stack[T]) below(ctx context.Context, f keptNode) []keptNode {
	list, _ := s.reuse.find(ctx, s.tree, f.span)
	return slices.DeleteFunc(list, func(b keptNode) bool { return b.key == f.key })
}

// maxFound is about the size in bytes of the partials that Find returns. They are in memory at the same time. More
// remain only if kept and missing partitions alternate.
const maxFound = 64 << 20

// take adds the partials of found nodes to the stack. The nodes must be in order.
func (s *stack[T]) take(ctx context.Context, found []keptNode) error {
	for _, f := range found {
		if ctx.Err() != nil || int64(len(s.nodes))*s.reuse.largest() > maxFound {
			return nil
		}
		value, m, ok := s.read(ctx, f)
		if !ok {
			if err := s.take(ctx, s.below(ctx, f)); err != nil {
				return err
			}
			continue
		}
		s.mark, s.next = m, f.span.Lo
		if err := s.push(ctx, f.node, value); err != nil {
			return err
		}
	}
	return nil
}

// largest returns the size in bytes of the largest partial that was read or encoded last.
func (r *reuser) largest() (bytes int64) {
	for i := range r.sizes {
		bytes = max(bytes, r.sizes[i].Load())
	}
	return bytes
}
