package primes

// tally is a partial: figures about the primes in a range of numbers.
type tally struct {
	_ struct{} `cbor:",toarray"`

	Count     uint64
	Sum       uint64 // sum of the primes, modulo 2^64
	First     uint64 // first prime; 0 if Count is 0
	Last      uint64
	TwinPairs uint64
	Gap       uint64 // largest gap inside the range; 0 if the range has fewer than two primes
	GapAfter  uint64 // smallest prime of the range that is followed by a gap of size Gap
}

func merge(left, right tally) (tally, error) {
	if left.Count == 0 {
		return right, nil
	}
	if right.Count == 0 {
		return left, nil
	}
	t := tally{
		Count: left.Count + right.Count, Sum: left.Sum + right.Sum,
		First: left.First, Last: right.Last,
		TwinPairs: left.TwinPairs + right.TwinPairs,
		Gap:       left.Gap, GapAfter: left.GapAfter,
	}
	between := right.First - left.Last
	if between == 2 {
		t.TwinPairs++
	}
	// Only a larger gap replaces GapAfter, because GapAfter belongs to the first of several equal
	// gaps.
	if between > t.Gap {
		t.Gap, t.GapAfter = between, left.Last
	}
	if right.Gap > t.Gap {
		t.Gap, t.GapAfter = right.Gap, right.GapAfter
	}
	return t, nil
}

func (t *tally) add(prime uint64) {
	one := tally{Count: 1, Sum: prime, First: prime, Last: prime}
	*t, _ = merge(*t, one)
}
