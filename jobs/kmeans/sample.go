package kmeans

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// sampled is a row of the sample.
type sampled struct {
	_ struct{} `cbor:",toarray"`

	Hash  uint64
	Count uint64 // number of equal rows
	Row   []float64
}

// compare orders the rows of a sample by their hash. Different rows may have the same hash.
func (s sampled) compare(t sampled) int {
	return cmp.Or(cmp.Compare(s.Hash, t.Hash), slices.Compare(s.Row, t.Row))
}

const (
	minSample     = 1024
	sampleOfEach  = 32     // rows of the sample for each centre
	maxSample     = 20_000 // unless there are many centres
	minSampleEach = 4
)

// sampleSize returns the number of different rows in a sample for k centres.
func sampleSize(k int) int {
	return max(minSample, minSampleEach*k, min(sampleOfEach*k, maxSample))
}

// sampler collects the rows with the lowest hashes.
type sampler struct {
	size int
	list []sampled // at most twice the size
	last uint64    // rows with a higher hash are not in the sample
}

func newSampler(size int) *sampler { return &sampler{size: size, last: math.MaxUint64} }

// add adds a row, of which it keeps a copy.
func (s *sampler) add(hash uint64, row []float64) {
	if hash > s.last {
		return
	}
	s.list = append(s.list, sampled{Hash: hash, Count: 1, Row: slices.Clone(row)})
	if len(s.list) >= 2*s.size {
		s.trim()
	}
}

// trim sorts the list, joins equal rows, and drops those above the size.
func (s *sampler) trim() {
	slices.SortFunc(s.list, sampled.compare)
	s.list = lowest(s.list, s.size)
	if len(s.list) == s.size {
		s.last = s.list[s.size-1].Hash
	}
}

// lowest joins the equal rows of a sorted list and returns at most n rows.
func lowest(list []sampled, n int) []sampled {
	out := list[:0]
	for _, next := range list {
		if last := len(out) - 1; last >= 0 && out[last].compare(next) == 0 {
			out[last].Count += next.Count
			continue
		}
		if len(out) == n {
			break
		}
		out = append(out, next)
	}
	return out
}

// mergeSamples returns the sample of the rows of two samples. The count of a row is complete: a row of the merged
// sample was in the samples of all parts that contain it.
func mergeSamples(left, right []sampled, n int) []sampled {
	both := slices.Concat(left, right)
	slices.SortFunc(both, sampled.compare)
	return lowest(both, n)
}

// hash returns a hash of the values of a row and the seed. It mixes each value like SplitMix64 (Steele, Lea, Flood, Fast
// splittable pseudorandom number generators, 2014).
func hash(seed uint64, row []float64) uint64 {
	h := mix(seed)
	for _, x := range row {
		h = mix(bits.RotateLeft64(h, 23) ^ math.Float64bits(x))
	}
	return h
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
