package scan

// heapify makes a slice a heap, whose first element is above all others.
func heapify[T any](heap []T, above func(a, b *T) bool) {
	for i := len(heap)/2 - 1; i >= 0; i-- {
		sink(heap, i, above)
	}
}

// sink moves an element of a heap below all elements that are above it.
func sink[T any](heap []T, at int, above func(a, b *T) bool) {
	for child := 2*at + 1; child < len(heap); child = 2*at + 1 {
		if child+1 < len(heap) && above(&heap[child+1], &heap[child]) {
			child++
		}
		if !above(&heap[child], &heap[at]) {
			return
		}
		heap[at], heap[child] = heap[child], heap[at]
		at = child
	}
}
