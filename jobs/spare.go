package jobs

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Filler is an optional interface of a [Mapper] whose partials are large. Fill is called instead of
// Map and does the same, but it may use the memory of spare for the value that it returns. Reusing
// memory avoids most allocations: allocating the memory of a vector takes about as much time as
// adding a vector to it.
//
// The parameter spare is a value that Merge no longer needs, a value in new memory, or the zero value
// of T. A slice in it may have the length of any partial of this job, or of an earlier job with the
// same parameters. The old content of spare must not affect the result. A value is freed if it was an
// operand of Merge and shares no memory with the value that Merge returned. Merge should therefore
// change left and return it:
//
//	func (m mapper) Fill(ctx context.Context, partition uint64, spare []float64) ([]float64, error) {
//		if len(spare) != m.length {
//			spare = make([]float64, m.length)
//		}
//		for i := range spare { … }
//		return spare, nil
//	}
//
//	Merge: func(left, right []float64) ([]float64, error) {
//		for i := range left {
//			left[i] += right[i]
//		}
//		return left, nil
//	}
//
// The type T, or the type that T points to, may contain only numbers, strings and slices of numbers
// or strings, in structs and arrays.
type Filler[T any] interface {
	Fill(ctx context.Context, partition uint64, spare T) (T, error)
}

// block is a range of addresses that a value refers to.
type block struct{ lo, hi uintptr }

// fillable returns an error if a value of type t can refer to memory that the function blocks does
// not find.
func fillable(t reflect.Type) error {
	inner := t
	if t.Kind() == reflect.Pointer {
		inner = t.Elem()
	}
	if part := opaque(inner, true); part != nil {
		return fmt.Errorf("the mapper has the method Fill, and partials contain a %v: want numbers, strings and slices of these, in structs and arrays", part)
	}
	return nil
}

// opaque returns a type within t whose memory the function blocks does not find. If blocks finds
// all memory of the type, opaque returns nil.
func opaque(t reflect.Type, slices bool) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		if slices {
			return opaque(t.Elem(), false)
		}
		return t
	case reflect.Array:
		return opaque(t.Elem(), slices)
	case reflect.Struct:
		for i := range t.NumField() {
			if part := opaque(t.Field(i).Type, slices); part != nil {
				return part
			}
		}
		return nil
	case reflect.Pointer, reflect.Map, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return t
	}
	return nil
}

// blocks returns the memory that a value refers to, and that a copy of the value would share.
// Strings are omitted, because they are immutable.
func blocks(v reflect.Value) (list []block) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return append(blocks(v.Elem()), block{v.Pointer(), v.Pointer() + v.Type().Elem().Size()})
	case reflect.Slice:
		if size := uintptr(v.Cap()) * v.Type().Elem().Size(); size > 0 {
			return []block{{v.Pointer(), v.Pointer() + size}}
		}
	case reflect.Array:
		if opaque(v.Type(), false) == nil {
			return nil
		}
		for i := range v.Len() {
			list = append(list, blocks(v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			list = append(list, blocks(v.Field(i))...)
		}
	}
	return list
}

// sharing returns a function that reports whether two values share mutable memory. Type T must be
// fillable.
func sharing[T any]() func(a, b T) bool {
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Slice {
		size := t.Elem().Size()
		return func(a, b T) bool { return slicesShare(unsafe.Pointer(&a), unsafe.Pointer(&b), size) }
	}
	return func(a, b T) bool {
		others := blocks(reflect.ValueOf(b))
		for _, x := range blocks(reflect.ValueOf(a)) {
			for _, y := range others {
				if x.lo < y.hi && y.lo < x.hi {
					return true
				}
			}
		}
		return false
	}
}

// slicesShare is a fast path for sharing. The parameters point to two slices whose elements have
// the same size.
func slicesShare(a, b unsafe.Pointer, size uintptr) bool {
	x, y := *(*[]struct{})(a), *(*[]struct{})(b)
	begin, other := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(unsafe.Pointer(unsafe.SliceData(y)))
	return begin < other+uintptr(cap(y))*size && other < begin+uintptr(cap(x))*size
}

// spares is a pool of values that merges no longer need. All stacks of a task share the pool.
type spares[T any] struct {
	share func(a, b T) bool // reports whether two values share memory; nil unless the mapper is a Filler
	more  func() (T, bool)  // returns spare memory; set by Task.Spares, nil if the caller has no spare memory
	give  func(T)           // takes a freed value; set if and only if more is set

	// size is the size in bytes of the memory that the next value needs, as far as known. size is 0
	// before the first value, and if Fill did not use its spare value. Only Task.Spares uses size.
	size atomic.Int64

	mu   sync.Mutex
	list []T
}

// freed returns an operand of a merge that shares no memory with the merged value. The result ok is
// false if both operands share memory with the merged value.
func (s *spares[T]) freed(left, right, merged T) (spare T, ok bool) {
	switch {
	case s.share == nil:
	case !s.share(right, merged):
		return right, true
	case !s.share(left, merged):
		return left, true
	}
	return spare, false
}

const (
	// sparesPerStack is how many freed values a stack keeps. In 31 of 32 partitions a stack needs no
	// more, and so does not wait for other slots at the pool, nor for memory from their caches.
	sparesPerStack = 4
	// smallSpare is the size in bytes up to which the freed values of a stack need too little memory
	// to count against a limit.
	smallSpare = 1 << 20
)

// perStack returns the maximum number of freed values that a stack keeps. The caller of Task.Spares
// limits the memory of large values, so a stack keeps only the one that it needs next.
func (s *spares[T]) perStack() int {
	if s.give != nil && s.size.Load() > smallSpare {
		return 1
	}
	return sparesPerStack
}

// put adds a freed value to the pool.
func (s *spares[T]) put(value T) {
	if s.give != nil {
		s.give(value)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, value)
}

// filled notes whether Fill used its spare value, and how much memory the value takes that Fill has
// returned.
func (s *spares[T]) filled(spare, value T) {
	if s.more == nil {
		return
	}
	size := int64(0)
	if v := reflect.ValueOf(value); reflect.ValueOf(spare).Len() == 0 || s.share(spare, value) {
		size = int64(v.Len()) * int64(v.Type().Elem().Size())
	}
	s.size.Store(size)
}

// get removes a freed value from the pool. If the pool is empty, get returns the zero value.
func (s *spares[T]) get() (value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) > 0 {
		return pop(&s.list)
	}
	if s.more != nil {
		value, _ = s.more()
	}
	return value
}

// pop removes the last value of a list and clears the value's element, so that the list does not
// keep the value in memory.
func pop[T any](list *[]T) (value T) {
	last := len(*list) - 1
	value, (*list)[last] = (*list)[last], value
	*list = (*list)[:last]
	return value
}
