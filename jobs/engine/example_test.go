package engine_test

import (
	"fmt"

	"github.com/bellwether-compute/bellwether/jobs/engine"
)

// ExampleTree_Cover lists the nodes of a span of six partitions. Merges happen only between
// siblings, so a span of six partitions may need three nodes.
func ExampleTree_Cover() {
	tree, err := engine.NewTree(10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range tree.Cover(engine.Span{Lo: 3, Hi: 9}) {
		fmt.Println(n, tree.Span(n))
	}
	// Output:
	// 0/3 [3,4)
	// 2/1 [4,8)
	// 0/8 [8,9)
}
