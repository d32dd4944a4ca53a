package bench

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// numberList is the value of a flag: whole numbers, such as 1000 or 1e9, separated by commas.
type numberList struct {
	list        []uint64
	least, most uint64 // minimum and maximum of each number in the list
}

func (n *numberList) Set(text string) error {
	n.list = nil
	for word := range strings.SplitSeq(text, ",") {
		v, ok := wholeNumber(strings.TrimSpace(word))
		if !ok || v < n.least || v > n.most {
			err := fmt.Errorf("want whole numbers from %d to %d, such as 1000 or 1e6, separated by commas", n.least, n.most)
			if word != text { // if word is the whole text, cobra's error already quotes it
				err = fmt.Errorf("%q: %w", word, err)
			}
			return err
		}
		n.list = append(n.list, v)
	}
	return nil
}

// wholeNumber parses a whole number such as 1000, 1e3 or 1.5e3. wholeNumber does not use float64,
// which cannot represent all whole numbers above 2^53.
func wholeNumber(word string) (uint64, bool) {
	const bits = 128 // 128 bits can hold every uint64 exactly
	f, _, err := big.ParseFloat(word, 10, bits, big.ToNearestEven)
	if err != nil || !f.IsInt() {
		return 0, false
	}
	v, rounded := f.Uint64()
	return v, rounded == big.Exact
}

func (n *numberList) String() string {
	var words []string
	for _, v := range n.list {
		words = append(words, strconv.FormatUint(v, 10))
	}
	return strings.Join(words, ",")
}

func (n *numberList) Type() string { return "NUMBERS" }
