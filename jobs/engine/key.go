package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"time"
)

// Key is the hash of all that a partial depends on. Partials with the same key have the same bytes, in
// every job and at every index. The zero Key means that a partial must not be reused.
type Key SHA256

// NewKey returns the key of something that depends on all parts. The first part says what the key is of,
// so that keys of different things differ.
func NewKey(parts ...[]byte) Key {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = h.Write(length[:]) // Write of a hash never returns an error
		_, _ = h.Write(part)
	}
	var k Key
	h.Sum(k[:0])
	return k
}

// KeyOf returns the key of the node whose children have the keys left and right. A node depends on the
// shape of the tree below it and on its partitions, but not on its index. If a child must not be reused,
// KeyOf returns the zero Key.
func KeyOf(left, right Key) Key {
	if left == (Key{}) || right == (Key{}) {
		return Key{}
	}
	var both [1 + 2*sha256.Size]byte // the input of NewKey begins with the zero byte of a length, so no other key has the same input
	both[0] = 1
	copy(both[1:], left[:])
	copy(both[1+sha256.Size:], right[:])
	return Key(sha256.Sum256(both[:]))
}

// Kept is a collection of partials of earlier jobs. The methods may be called from several goroutines.
// A collection may lose any partial at any time: the partial is then computed again.
type Kept interface {
	// Has reports whether the collection probably has a partial. Has does no I/O.
	Has(key Key) bool

	// Get returns a partial whose bytes were checked by their digest. If the partial is missing or
	// damaged, Get returns false, and so does Has from then on. The data must not be changed.
	Get(ctx context.Context, key Key) (KeptPartial, bool)

	// Keep adds a partial. The collection owns the data from then on.
	Keep(ctx context.Context, key Key, p KeptPartial)
}

// InputObject is an object that a partition reads. Its version changes whenever its content does.
type InputObject struct {
	_ struct{} `cbor:",toarray"`

	Name, Version string
}

// Describer is an optional interface of a [Kept] that notes what a job reads, so that later dry runs can say why they
// would compute partitions.
type Describer interface {
	// Describe is called once, before any call of Close, with the objects that the job reads. An object may come
	// several times. The sequence is nil if the job does not name its objects.
	Describe(objects iter.Seq[InputObject])
}

// Reuse is the collection of partials that a job reuses and extends. The zero value means that the job
// computes everything and keeps nothing.
type Reuse struct {
	Family Key // value of the method Family of the job
	Kept   Kept
	// Limit is the number of bytes that kept partials may take; 0 means no limit. A node is not kept if all nodes
	// of its level would take more.
	Limit int64
}

// KeptPartial is a partial of a [Kept].
type KeptPartial struct {
	Data       []byte
	Partitions uint64        // number of partitions that the partial covers
	Work       time.Duration // time that Map has taken for these partitions
}

// Reused counts what a task has taken from a [Kept] instead of computing it.
type Reused struct {
	Partitions uint64
	Work       time.Duration // duration of all calls of Map that computed these partitions
}

// Found is what a task has found in a [Kept].
type Found struct {
	Reused
	Root  Key       // key of the root; zero if a partition must not be reused
	Nodes []Partial // finished nodes in order, merged as far as possible
}

// WorthKeeping reports whether a partial stands for so much work that it is worth its bytes: at most 4 MB
// for each second of Map. Kept partials of a job therefore take about that much at most, and less than 2 %
// of the job's time at 200 MB/s, encoding not counted.
func WorthKeeping(bytes int, work time.Duration) bool {
	const nanosecondsPerByte = 250
	return int64(bytes) <= int64(work)/nanosecondsPerByte
}
