package ledger

import (
	"iter"
	"slices"
)

// maxChunk is the largest number of elements in a chunk of a sortedList.
const maxChunk = 128

// sortedList is a sorted list without duplicates. The list is divided into chunks, so that an
// insertion or a removal moves few elements even in a list of a million.
type sortedList[T interface{ Compare(T) int }] struct {
	chunks [][]T // chunks of elements in order; no chunk is empty
	len    int
}

// search finds the first element that is not below x. It returns the index of the element's chunk,
// and the position within the chunk. If all elements are below x, search returns the number of
// chunks as index.
func (s *sortedList[T]) search(x T) (chunk, at int, found bool) {
	chunk, _ = slices.BinarySearchFunc(s.chunks, x, func(c []T, x T) int { return c[len(c)-1].Compare(x) })
	if chunk < len(s.chunks) {
		at, found = slices.BinarySearchFunc(s.chunks[chunk], x, T.Compare)
	}
	return chunk, at, found
}

// find returns the element that compares as equal to x, or nil. The returned pointer is valid until
// the list changes.
func (s *sortedList[T]) find(x T) *T {
	if chunk, at, found := s.search(x); found {
		return &s.chunks[chunk][at]
	}
	return nil
}

// insert adds x, which must not be in the list, and returns a pointer to the new element. The
// pointer is valid until the list changes.
func (s *sortedList[T]) insert(x T) *T {
	s.len++
	chunk, at, _ := s.search(x)
	last := len(s.chunks) - 1
	switch {
	case chunk > last && (last < 0 || len(s.chunks[last]) == maxChunk):
		s.chunks = append(s.chunks, []T{x})
		return &s.chunks[chunk][0]
	case chunk > last:
		chunk, at = last, len(s.chunks[last])
	case len(s.chunks[chunk]) == maxChunk:
		full := s.chunks[chunk]
		s.chunks[chunk] = full[: maxChunk/2 : maxChunk/2]
		s.chunks = slices.Insert(s.chunks, chunk+1, slices.Clone(full[maxChunk/2:]))
		if at > maxChunk/2 {
			chunk, at = chunk+1, at-maxChunk/2
		}
	}
	s.chunks[chunk] = slices.Insert(s.chunks[chunk], at, x)
	return &s.chunks[chunk][at]
}

// remove removes the element that compares as equal to x, if the list contains one.
func (s *sortedList[T]) remove(x T) {
	chunk, at, found := s.search(x)
	if !found {
		return
	}
	s.len--
	if s.chunks[chunk] = slices.Delete(s.chunks[chunk], at, at+1); len(s.chunks[chunk]) == 0 {
		s.chunks = slices.Delete(s.chunks, chunk, chunk+1)
	}
}

// removeRange removes the elements from lo (inclusive) to hi (exclusive).
func (s *sortedList[T]) removeRange(lo, hi T) {
	i, from, _ := s.search(lo)
	if i == len(s.chunks) {
		return
	}
	k, to, _ := s.search(hi)
	var kept [][]T
	if i == k {
		s.len -= to - from
		kept = append(kept, slices.Delete(s.chunks[i], from, to))
	} else {
		for _, c := range s.chunks[i:k] {
			s.len -= len(c)
		}
		s.len += from
		kept = append(kept, s.chunks[i][:from:from])
		if k < len(s.chunks) {
			s.len -= to
			kept = append(kept, s.chunks[k][to:])
		}
	}
	kept = slices.DeleteFunc(kept, func(c []T) bool { return len(c) == 0 })
	s.chunks = slices.Replace(s.chunks, i, min(k+1, len(s.chunks)), kept...)
}

// first returns the first element that is not below x, or nil. The returned pointer is valid until
// the list changes.
func (s *sortedList[T]) first(x T) *T {
	if chunk, at, _ := s.search(x); chunk < len(s.chunks) {
		return &s.chunks[chunk][at]
	}
	return nil
}

// from iterates over the elements that are not below x; the loop must not change the list.
func (s *sortedList[T]) from(x T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		chunk, at, _ := s.search(x)
		for ; chunk < len(s.chunks); chunk, at = chunk+1, 0 {
			for ; at < len(s.chunks[chunk]); at++ {
				if !yield(&s.chunks[chunk][at]) {
					return
				}
			}
		}
	}
}
