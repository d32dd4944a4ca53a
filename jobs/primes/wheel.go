package primes

// wheel contains the residues modulo 30 that are not divisible by 2, 3 or 5. Bit i of byte j in a
// block stands for the number 30j + wheel[i], relative to the block's first number.
var wheel = [8]uint64{1, 7, 11, 13, 17, 19, 23, 29}

// A step leads from one multiple of a prime to the next multiple whose cofactor is on the wheel. For a prime p
// = 30a + r the length of a step is a*gap + carry bytes.
type step struct {
	keep  uint8 // mask in which only the bit of the multiple is 0
	gap   uint8 // distance from the cofactor to the next one
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

// onWheel has, for each residue modulo 30, the distance to the next number on the wheel
// and the index of that number.
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

// numbersPerWord is 240, because a word has eight bytes of 30 numbers each.
const numbersPerWord = 240

// offset[i] is the number for which bit i of a word stands, relative to the word's first
// number.
var offset = func() (o [64]uint8) {
	for bit := range o {
		o[bit] = uint8(uint64(bit/8)*30 + wheel[bit%8])
	}
	return o
}()

// bitsBelow[n] is the number of bits of a word that stand for numbers below n, relative to
// the word's first number.
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
