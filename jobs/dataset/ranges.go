package dataset

import (
	"encoding/binary"
	"hash/fnv"
	"sort"

	"github.com/bellwether-compute/bellwether/jobs/dataset/source"
)

// group describes neighbouring partitions of a dataset. It is either all ranges of one object, or
// one partition of several whole objects.
type group struct {
	first   uint64 // first partition of the group
	object  int    // index of the first object in the listing
	objects int
	ranges  uint64  // number of partitions in the group
	borders []int64 // offsets of the partitions in the object, and the object's size; nil if the ranges are of equal size
}

const (
	// maxShared is the maximum number of objects that share a partition. The number is limited because
	// opening an object takes time even if the object is small.
	maxShared = 1000
	// maxNames is the maximum size in bytes of the names of objects that share a partition. Programs
	// get these names in an environment variable, which may have 128 KiB on Linux.
	maxNames = 64 << 10
)

// ranges contains the partitions of a listing. The ranges depend only on the listing and the block
// size.
type ranges struct {
	listing listing
	groups  []group
	count   uint64 // number of partitions of the listing
}

// cut cuts a listing into partitions of about block bytes. An object that is larger than a block
// is cut into ranges of equal size, unless it is compressed. Smaller objects share a partition.
func cut(l listing, block int64) ranges { return cutSome(l, block, false, nil) }

// cut cuts a listing of the input into partitions. Objects in UTF-16 are not cut. The parameter bgzip has the indices of the
// compressed objects that can be cut.
func (in Input) cut(l listing, bgzip []uint64) ranges {
	return cutSome(l, in.Block, in.isUTF16(), bgzip)
}

// cutSome cuts a listing like cut. If whole is true, it cuts no object.
func cutSome(l listing, block int64, whole bool, bgzip []uint64) ranges {
	r := ranges{listing: l}
	shared := int64(0) // bytes of the last group if objects may be added to the group; otherwise -1
	names := 0         // bytes of the names of the last group's objects
	for i, o := range l {
		if o.Size > block && !whole && isCut(l, i, bgzip) {
			r.add(group{object: i, objects: 1, ranges: uint64((o.Size-1)/block + 1)})
			shared = -1
			continue
		}
		last := len(r.groups) - 1
		names += len(o.Name)
		if last >= 0 && shared >= 0 && o.Size <= block-shared && r.groups[last].objects < maxShared && names <= maxNames {
			r.groups[last].objects++
			shared += o.Size
			continue
		}
		names = len(o.Name)
		r.add(group{object: i, objects: 1, ranges: 1})
		if shared = o.Size; shared > block {
			shared = -1
		}
	}
	return r
}

// each makes each object of a listing a partition.
func each(l listing) ranges {
	r := ranges{listing: l}
	for i := range l {
		r.add(group{object: i, objects: 1, ranges: 1})
	}
	return r
}

// divideAt cuts each object of a listing into partitions of the given sizes. If all objects are empty, the first
// object is a partition.
func divideAt(l listing, sizes [][]int64) ranges {
	r := ranges{listing: l}
	for i := range l {
		if len(sizes[i]) == 0 {
			continue
		}
		borders := make([]int64, 1, len(sizes[i])+1)
		for at, size := range sizes[i] {
			borders = append(borders, borders[at]+size)
		}
		r.add(group{object: i, objects: 1, ranges: uint64(len(sizes[i])), borders: borders})
	}
	if r.count == 0 && len(l) > 0 {
		r.add(group{object: 0, objects: 1, ranges: 1})
	}
	return r
}

func (r *ranges) add(g group) {
	g.first = r.count
	r.groups = append(r.groups, g)
	r.count += g.ranges
}

// part describes the input of one partition: the bytes [from, to) of an object, or several whole
// objects.
type part struct {
	objects  listing
	from, to int64 // range of bytes, if the part has only one object
}

// begins reports whether the part begins at the beginning of an object. ends reports whether the
// part ends at the end of an object.
func (p part) begins() bool { return p.from == 0 }
func (p part) ends() bool   { return len(p.objects) > 1 || p.to == p.objects[0].Size }

// borders returns numbers that identify the two borders of the part. Neighbouring ranges of an object
// have the same border between them. Two borders of a dataset have the same number with probability
// 2^-64.
func (p part) borders() (from, to uint64) {
	last := p.objects[len(p.objects)-1]
	if len(p.objects) > 1 {
		return number(p.objects[0], 0), number(last, last.Size)
	}
	return number(last, p.from), number(last, p.to)
}

// number returns the number of the border at an offset of an object.
func number(o source.Object, offset int64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(o.Name), uint64(offset))) // Write of a hash never returns an error
	return h.Sum64()
}

// part returns the input of a partition.
func (r ranges) part(partition uint64) part {
	i := sort.Search(len(r.groups), func(i int) bool { return r.groups[i].first > partition }) - 1
	g := r.groups[i]
	objects := r.listing[g.object : g.object+g.objects]
	if g.objects > 1 {
		return part{objects: objects}
	}
	at, n, size := int64(partition-g.first), int64(g.ranges), objects[0].Size
	if g.borders != nil {
		return part{objects: objects, from: g.borders[at], to: g.borders[at+1]}
	}
	return part{objects: objects, from: border(size, n, at), to: border(size, n, at+1)}
}

// border returns the offset of part i of n parts of about the same size.
func border(size, n, i int64) int64 { return size/n*i + min(i, size%n) }
