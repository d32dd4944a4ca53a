package jobs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// Sharder says how a partial is cut into shards, which are merged on their own. Merge must treat each shard as it
// treats the partial, for every n:
//
//   - A shard of the merged partial is the merge of the operands' shards: Split(Merge(a, b), n)[i] has the encoding of
//     Merge(Split(a, n)[i], Split(b, n)[i]).
//   - The joined shards are the partial: Join(a, shards) of these merges has the encoding of Merge(a, b).
//
// Element-wise sums of vectors are of this kind if all vectors of a job have the same length, and [Vector] is their
// Sharder. Merges that append, that sort, or that read a total at the front of a vector are not.
// The methods are called from several goroutines at once.
type Sharder[T any] interface {
	// Split returns n shards, which may share the memory of the partial, but not with each other. Some may be empty.
	Split(partial T, n int) []T
	// Join returns the partial of n merged shards. The parameter left is the left operand, whose shards Merge
	// usually changes and returns. Join then returns left, and copies nothing.
	Join(left T, shards []T) T
	// Size returns about how many bytes of memory a partial takes.
	Size(partial T) int64
}

// leastShard is the smallest size in bytes of a shard. Merging it takes much longer than starting a goroutine.
const leastShard = 256 << 10

// mergeWithIdle merges two partials. It merges one shard on this goroutine's slot and one on each idle slot, if the
// partials are large enough.
func (m merger[T]) mergeWithIdle(ctx context.Context, left, right T) (T, error) {
	most := min(m.shards.Size(left), m.shards.Size(right)) / leastShard
	if most < 2 {
		return m.merge(left, right)
	}
	idle := engine.IdleOf(ctx)
	borrowed := idle.Borrow(int(most) - 1)
	defer idle.Add(borrowed)
	if borrowed == 0 {
		return m.merge(left, right)
	}
	return m.inShards(left, right, borrowed+1)
}

// inShards merges two partials in n shards at the same time. It returns the error of the first shard that has one.
func (m merger[T]) inShards(left, right T, n int) (merged T, err error) {
	lefts, rights := m.shards.Split(left, n), m.shards.Split(right, n)
	if len(lefts) != n || len(rights) != n {
		return merged, fmt.Errorf("Split returned %d and %d shards: want %d", len(lefts), len(rights), n)
	}
	errs := make([]error, n)
	var merges sync.WaitGroup
	for i := range n {
		merges.Go(func() { m.shard(&lefts[i], rights[i], &errs[i]) })
	}
	merges.Wait()
	if err := cmp.Or(errs...); err != nil {
		return merged, err
	}
	return m.shards.Join(left, lefts), nil
}

// shard replaces the shard left by its merge with right. A panic, and a call of runtime.Goexit, become an error.
func (m merger[T]) shard(left *T, right T, err *error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			*err = newPanicError(v)
		} else if !returned {
			*err = fmt.Errorf("Merge: %w", ErrGoexit)
		}
	}()
	*left, *err = m.merge(*left, right)
	returned = true
}

// checkShards compares the encoded merge of two encoded partials with merges of n shards. It returns what differs, or
// an empty string. If the definition has no shards, checkShards does nothing.
func (b *binding[P, T, R]) checkShards(left, right, merged []byte, n int) (differs string, err error) {
	defer recoverTo(&err)
	sharder := b.def.Shards
	if sharder == nil {
		return "", nil
	}
	var partials [3]T
	var shards [3][]T
	for i, data := range [][]byte{left, right, merged} {
		if partials[i], err = b.def.Codec.Decode(data); err != nil {
			return "", err
		}
		if shards[i] = sharder.Split(partials[i], n); len(shards[i]) != n {
			return "", fmt.Errorf("Split returned %d shards: want %d", len(shards[i]), n)
		}
	}
	lefts, rights, want := shards[0], shards[1], shards[2]
	for i := range n {
		if lefts[i], err = b.def.Merge(lefts[i], rights[i]); err != nil {
			return "", fmt.Errorf("merge shard %d of %d: %w", i, n, err)
		}
		if same, err := b.encodesAs(lefts[i], want[i]); err != nil || !same {
			return fmt.Sprintf("shard %d of %d", i, n), err
		}
	}
	joined, err := b.def.Codec.Encode(sharder.Join(partials[0], lefts))
	if err != nil || !bytes.Equal(joined, merged) {
		return fmt.Sprintf("%d joined shards", n), err
	}
	return "", nil
}

// encodesAs reports whether two values have the same encoding.
func (b *binding[P, T, R]) encodesAs(one, other T) (bool, error) {
	x, err := b.def.Codec.Encode(one)
	if err != nil {
		return false, err
	}
	y, err := b.def.Codec.Encode(other)
	return bytes.Equal(x, y), err
}
