package jobs

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes, such as 3GiB, 10M, 1.5e9 or 65536. The units K, M, G, T and P are
// powers of 1000, and Ki to Pi are powers of 1024. A B may follow, and lower case means the same.
func ParseSize(text string) (uint64, error) {
	number := strings.TrimSuffix(strings.ToUpper(strings.ReplaceAll(text, " ", "")), "B")
	n, err := strconv.ParseUint(writeOut(number), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.100q: want a number of bytes, such as 3GiB or 10M", text)
	}
	return n, nil
}

var (
	numberForm = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,2})?)(?:([kKmMgGtTpP])([iI]?)[bB]?)?$`)
	prefixes   = " KMGTP" // the index of a unit is its power
)

// writeOut rewrites a whole number such as 5e9, 1.5M or 64MiB without an exponent and a unit. writeOut
// returns any other text unchanged.
func writeOut(text string) string {
	m := numberForm.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	base := int64(1000)
	if m[3] != "" {
		base = 1024
	}
	n, _ := new(big.Rat).SetString(m[1]) // the form has no sign or exponent that SetString refuses
	power := int64(max(0, strings.Index(prefixes, strings.ToUpper(m[2]))))
	unit := new(big.Int).Exp(big.NewInt(base), big.NewInt(power), nil)
	if n.Mul(n, new(big.Rat).SetInt(unit)); !n.IsInt() {
		return text
	}
	return n.Num().String()
}
