package primes

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
)

// sieve is the state that all blocks of a job share.
type sieve struct {
	base    []basePrime // base primes in ascending order, from firstBase to the square root of the limit
	pattern []byte      // bits of the wheel in which the multiples of 7, 11, 13 and 17 are crossed out; the pattern is periodic
	bytes   uint64      // size of a block in bytes, a multiple of eight
}

// basePrime is a prime of the form 30a + wheel[r], stored as 8a + r.
type basePrime uint32

func (p basePrime) value() uint64 { return uint64(p>>3)*30 + wheel[p&7] }

// The pattern of crossed-out numbers omits the multiples of the primes from 7 to 17.
const (
	firstBase     = 19
	patternLength = 7 * 11 * 13 * 17
)

// minBlock and maxBlock are the bounds of the size of a block in bytes. A block should fit in a
// core's second-level cache. Small blocks are better, because a slot must sieve a whole block for
// its first partition.
const (
	minBlock = 64 << 10
	maxBlock = 512 << 10
)

// rootPerByte is the ratio of the limit's square root to the size of a block in bytes. In smaller
// blocks, updating the cursors costs more than crossing out multiples. The value of rootPerByte is
// the result of measurements.
const rootPerByte = 4

func newSieve(limit uint64) *sieve {
	root := uint64(math.Sqrt(float64(limit))) + 1 // the conversion is exact, because limits are far below 2^53
	s := &sieve{bytes: minBlock}
	for s.bytes < maxBlock && s.bytes*rootPerByte < root {
		s.bytes *= 2
	}
	composite := make([]bool, root+1)
	for n := uint64(7); n <= root; n++ {
		if composite[n] || wheelIndex(n%30) == 8 {
			continue
		}
		for m := n * n; m <= root; m += n {
			composite[m] = true
		}
		if n >= firstBase {
			s.base = append(s.base, basePrime(n/30<<3|wheelIndex(n%30)))
		}
	}
	s.pattern = make([]byte, patternLength)
	for i := range s.pattern {
		for bit, w := range wheel {
			if n := 30*i + int(w); n%7 != 0 && n%11 != 0 && n%13 != 0 && n%17 != 0 {
				s.pattern[i] |= 1 << bit
			}
		}
	}
	return s
}

// block is a range of sieved numbers, with the state for sieving the next range.
type block struct {
	*sieve
	index   uint64 // index of the block, which begins at number 30*bytes*index
	bits    []byte
	next    []cursor // positions of the next multiples of the base primes whose squares are below the block's end
	crossed bool     // false before the first call of moveTo
}

// cursor is the position of the next multiple of a base prime to cross out. A multiple is the
// product of the base prime and a cofactor. The cursor is 8 times the offset of the multiple's byte
// in the block, plus the cofactor's index on the wheel.
type cursor uint32

func (s *sieve) newBlock() *block {
	return &block{sieve: s, bits: make([]byte, s.bytes), next: make([]cursor, 0, len(s.base))}
}

func (b *block) count(ctx context.Context, lo, hi uint64) (t tally, err error) {
	if lo <= 5 {
		for _, p := range []uint64{2, 3, 5} { // the wheel has no bits for the primes 2, 3 and 5
			if lo <= p && p < hi {
				t.add(p)
			}
		}
	}
	for lo < hi {
		if first := b.first(); !b.crossed || lo < first || lo >= first+b.numbers() {
			if err := b.moveTo(ctx, lo/b.numbers()); err != nil {
				return t, err
			}
		}
		first := b.first()
		end := min(hi, first+b.numbers())
		b.tally(&t, lo-first, end-first)
		lo = end
	}
	return t, nil
}

func (s *sieve) numbers() uint64 { return s.bytes * 30 }

func (b *block) first() uint64 { return b.index * b.numbers() }

func (b *block) moveTo(ctx context.Context, index uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !b.crossed || index != b.index+1 {
		b.next = b.next[:0]
	}
	b.index, b.crossed = index, true
	b.start()
	b.cross()
	return nil
}

// start fills the block with the pattern, and creates the missing cursors of base primes.
func (b *block) start() {
	first := b.index * b.bytes
	for at, from := uint64(0), first%patternLength; at < b.bytes; from = 0 {
		at += uint64(copy(b.bits[at:], b.pattern[from:]))
	}
	if first == 0 {
		b.bits[0] = 0xfe // 1 is not prime; 7 to 29 are primes, but the pattern omits 7, 11, 13 and 17
	}
	for i := len(b.next); i < len(b.base); i++ {
		p := b.base[i].value()
		if p*p >= (first+b.bytes)*30 {
			break
		}
		// A multiple of p whose cofactor is below p has a prime factor below p, so it has already been crossed
		// out.
		cofactor := max(p, ceilDiv(first*30, p))
		up := onWheel[cofactor%30]
		at := p*(cofactor+up.distance)/30 - first
		b.next = append(b.next, cursor(at<<3|up.index))
	}
}

func (b *block) cross() {
	size := uint(len(b.bits))
	for i, c := range b.next {
		a, s := uint(b.base[i]>>3), &steps[b.base[i]&7]
		at, w := uint(c>>3), uint(c&7)
		if size > 8*30*a {
			at, w = crossTurns(b.bits, a, s, at, w)
		}
		for at < size {
			b.bits[at] &= s[w].keep
			at += a*uint(s[w].gap) + uint(s[w].carry)
			w = (w + 1) & 7
		}
		b.next[i] = cursor((at-size)<<3 | w)
	}
}

// crossTurns crosses out eight multiples at a time, one for each number of the wheel, while all eight are in
// the block. Eight multiples at a time are fast to cross out for small primes. crossTurns returns the byte at
// which the caller continues.
func crossTurns(bits []byte, a uint, s *[8]step, at, w uint) (uint, uint) {
	size := uint(len(bits))
	for w != 0 && at < size {
		bits[at] &= s[w].keep
		at += a*uint(s[w].gap) + uint(s[w].carry)
		w = (w + 1) & 7
	}
	d1 := a*uint(s[0].gap) + uint(s[0].carry)
	d2 := d1 + a*uint(s[1].gap) + uint(s[1].carry)
	d3 := d2 + a*uint(s[2].gap) + uint(s[2].carry)
	d4 := d3 + a*uint(s[3].gap) + uint(s[3].carry)
	d5 := d4 + a*uint(s[4].gap) + uint(s[4].carry)
	d6 := d5 + a*uint(s[5].gap) + uint(s[5].carry)
	d7 := d6 + a*uint(s[6].gap) + uint(s[6].carry)
	turn := d7 + a*uint(s[7].gap) + uint(s[7].carry)
	for w == 0 && at+d7 < size {
		t := bits[at : at+d7+1]
		t[0] &= s[0].keep
		t[d1] &= s[1].keep
		t[d2] &= s[2].keep
		t[d3] &= s[3].keep
		t[d4] &= s[4].keep
		t[d5] &= s[5].keep
		t[d6] &= s[6].keep
		t[d7] &= s[7].keep
		at += turn
	}
	return at, w
}

// tally adds the primes in [lo, hi) to t. The bounds lo and hi are offsets from the block's first
// number. tally copies fields to local variables so that the compiler keeps them in registers.
func (b *block) tally(t *tally, lo, hi uint64) {
	count, sum, last, twins, gap, gapAfter := t.Count, t.Sum, t.Last, t.TwinPairs, t.Gap, t.GapAfter
	first := b.first()
	for i := lo / numbersPerWord; i*numbersPerWord < hi; i++ {
		word := binary.LittleEndian.Uint64(b.bits[i*8:])
		at := i * numbersPerWord
		if at < lo {
			word &= ^uint64(0) << bitsBelow[lo-at]
		}
		if hi-at < numbersPerWord {
			word &= 1<<bitsBelow[hi-at] - 1
		}
		if word == 0 {
			continue
		}
		at += first
		if count == 0 {
			last = at + uint64(offset[bits.TrailingZeros64(word)])
			count, sum, t.First = 1, last, last
			word &= word - 1
		}
		count += uint64(bits.OnesCount64(word))
		for ; word != 0; word &= word - 1 {
			prime := at + uint64(offset[bits.TrailingZeros64(word)])
			distance := prime - last
			if distance == 2 {
				twins++
			}
			if distance > gap {
				gap, gapAfter = distance, last
			}
			sum += prime
			last = prime
		}
	}
	t.Count, t.Sum, t.Last, t.TwinPairs, t.Gap, t.GapAfter = count, sum, last, twins, gap, gapAfter
}
