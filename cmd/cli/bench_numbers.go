package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numberList is a flag's value: whole numbers, such as 1000 or 1e9, with commas between
// them.
type numberList struct {
	list        []uint64
	least, most uint64 // that each may be
}

func (n *numberList) Set(text string) error {
	n.list = nil
	for word := range strings.SplitSeq(text, ",") {
		v, err := wholeNumber(strings.TrimSpace(word))
		if err != nil || v < n.least || v > n.most {
			return fmt.Errorf("got %q, want whole numbers from %d to %d, such as 1000 or 1e6, with commas between them", word, n.least, n.most)
		}
		n.list = append(n.list, v)
	}
	return nil
}

func wholeNumber(word string) (uint64, error) {
	if v, err := strconv.ParseUint(word, 10, 64); err == nil {
		return v, nil
	}
	v, err := strconv.ParseFloat(word, 64)
	const exact = 1 << 53 // below it, a float64 has every whole number
	if err == nil && (v != math.Trunc(v) || v < 0 || v > exact) {
		err = strconv.ErrRange
	}
	return uint64(v), err
}

func (n *numberList) String() string {
	var words []string
	for _, v := range n.list {
		words = append(words, strconv.FormatUint(v, 10))
	}
	return strings.Join(words, ",")
}

func (n *numberList) Type() string { return "NUMBERS" }
