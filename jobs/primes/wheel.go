package primes

// wheel contains the residues modulo 30 that are not divisible by 2, 3 or 5. Bit i of byte j in a
// block represents the number 30j + wheel[i], relative to the block's first number.
var wheel = [8]uint64{1, 7, 11, 13, 17, 19, 23, 29}

// step is the distance from one multiple of a prime to the next multiple whose cofactor is on the
// wheel. For a prime p = 30a + r the length of a step is a*gap + carry bytes.
type step struct {
	keep  uint8 // mask in which only the bit of the multiple is 0
	gap   uint8 // distance from the cofactor to the next cofactor on the wheel
	carry uint8
}

// steps contains the step for each residue r of a prime and each cofactor on the wheel.
var steps = func() (s [8][8]step) {
	for ri, r := range wheel {
		for i, w := range wheel {
			gap := (wheel[(i+1)%8] + 30 - w) % 30
			s[ri][i] = step{
				keep:  ^(1 << wheelIndex(r*w%30)),
				gap:   uint8(gap),
				carry: uint8((r*w%30 + r*gap) / 30),
			}
		}
	}
	return s
}()

// onWheel contains, for each residue modulo 30, the distance to the next number on the wheel and
// the index of the next number.
var onWheel = func() (up [30]struct{ distance, index uint64 }) {
	for r := range uint64(30) {
		n := r
		for wheelIndex(n%30) == 8 {
			n++
		}
		up[r].distance, up[r].index = n-r, wheelIndex(n%30)
	}
	return up
}()

// numbersPerWord is the number of integers that a word of 64 bits represents. Each of the eight
// bytes represents 30 integers.
const numbersPerWord = 240

// offset contains the number that each bit of a word represents, relative to the word's first
// number.
var offset = func() (o [64]uint8) {
	for bit := range o {
		o[bit] = uint8(uint64(bit/8)*30 + wheel[bit%8])
	}
	return o
}()

// bitsBelow contains, for each n, the number of bits of a word that represent numbers below n. The
// number n is relative to the word's first number.
var bitsBelow = func() (below [numbersPerWord]uint8) {
	for n := range below {
		for _, o := range offset {
			if int(o) < n {
				below[n]++
			}
		}
	}
	return below
}()

// wheelIndex returns the index of r on the wheel, or 8 if r is not on the wheel.
func wheelIndex(r uint64) uint64 {
	for i, w := range wheel {
		if w == r {
			return uint64(i)
		}
	}
	return 8
}
