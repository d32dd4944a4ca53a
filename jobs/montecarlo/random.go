package montecarlo

// philox is the function Philox4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel random numbers: as
// easy as 1, 2, 3, SC 2011. The outputs for different counters pass statistical tests of
// randomness.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	const (
		multiplier0, multiplier1 = 0xd2511f53, 0xcd9e8d57
		weyl0, weyl1             = 0x9e3779b9, 0xbb67ae85
	)
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		p0, p1 := uint64(c0)*multiplier0, uint64(c2)*multiplier1
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// uniform returns a number strictly between 0 and 1, with 52 random bits. The arithmetic of uniform
// has no rounding errors.
func uniform(high, low uint32) float64 {
	return (float64((uint64(high)<<32|uint64(low))>>12) + 0.5) * 0x1p-52
}
