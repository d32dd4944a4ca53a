package kmeans

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNearest compares with a plain loop, for all numbers of centres around multiples of four, and with equal
// distances.
func TestNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for count := 1; count < 14; count++ {
		for width := 1; width < 6; width++ {
			for range 50 {
				row, centres := make([]float64, width), make([]float64, width*count)
				for j := range row {
					row[j] = float64(random.IntN(3))
				}
				for j := range centres {
					centres[j] = float64(random.IntN(3))
				}
				best, least := -1, 0.0
				for c := range count {
					if d := distance(row, centres[c*width:(c+1)*width]); best < 0 || d < least {
						best, least = c, d
					}
				}
				if c, d := Nearest(row, centres); c != best || d != least {
					t.Fatalf("row %v, centres %v: got %d at %v, want %d at %v", row, centres, c, d, best, least)
				}
			}
		}
	}
}

// TestSums compares scaled sums with fractions, for values of all sizes and signs.
func TestSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		largest := math.Ldexp(1+random.Float64(), random.IntN(600)-300)
		s := scaleOf(largest)
		var total, left, right sum
		want := new(big.Rat)
		n := 1 + random.IntN(300)
		for i := range n {
			x := largest * (2*random.Float64() - 1)
			if i == 0 {
				x = -largest
			}
			if random.IntN(3) == 0 {
				x = math.Ldexp(x, -random.IntN(5)) // all bits are within the scale
			}
			scaled := x * s.factor()
			if scaled != math.Trunc(scaled) {
				x = math.Trunc(scaled) / s.factor()
			}
			v := int64(x * s.factor())
			total.add(v)
			if i%2 == 0 {
				left.add(v)
			} else {
				right.add(v)
			}
			want.Add(want, new(big.Rat).SetFloat64(x))
		}
		left.plus(right)
		if left != total {
			t.Fatalf("the sum of two sums is %+v, want %+v", left, total)
		}
		mean, _ := want.Quo(want, new(big.Rat).SetInt64(int64(n))).Float64()
		if got := s.mean(total, uint64(n)); got != mean {
			t.Fatalf("mean of %d values up to %v: got %v, want %v", n, largest, got, mean)
		}
	}
	if got := scaleOf(0).mean(sum{}, 3); got != 0 {
		t.Errorf("the mean of zeros is %v", got)
	}
	var most sum
	for range 8 {
		most.add(1<<62 - 1)
	}
	if most != (sum{High: 1, Low: 1<<64 - 8}) {
		t.Errorf("8·(2^62 - 1) is %+v", most)
	}
}

// TestSampleOfParts cuts rows into parts at random places: the merged samples are the same, with complete counts.
func TestSampleOfParts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	var table [][]float64
	for range 4000 {
		table = append(table, []float64{float64(random.IntN(20)), float64(random.IntN(20))})
	}
	const size = 50
	sampleOf := func(part [][]float64) []sampled {
		s := newSampler(size)
		for _, row := range part {
			s.add(hash(3, row), row)
		}
		s.trim()
		return s.list
	}
	whole := sampleOf(table)
	if len(whole) != size {
		t.Fatalf("the sample has %d rows, want %d", len(whole), size)
	}
	for _, s := range whole {
		n := uint64(0)
		for _, row := range table {
			if slices.Equal(row, s.Row) {
				n++
			}
		}
		if s.Count != n {
			t.Errorf("row %v has count %d, want %d", s.Row, s.Count, n)
		}
	}
	for range 20 {
		a, b := random.IntN(2000), 2000+random.IntN(2000)
		one := mergeSamples(mergeSamples(sampleOf(table[:a]), sampleOf(table[a:b]), size), sampleOf(table[b:]), size)
		two := mergeSamples(sampleOf(table[:a]), mergeSamples(sampleOf(table[a:b]), sampleOf(table[b:]), size), size)
		if fmt.Sprint(one) != fmt.Sprint(whole) || fmt.Sprint(two) != fmt.Sprint(whole) {
			t.Fatalf("cut at %d and %d the samples differ", a, b)
		}
	}
}

// TestHashIsSpread checks that samples with different seeds differ, and that no column is ignored.
func TestHashIsSpread(t *testing.T) {
	row := []float64{1, 2, 3}
	seen := map[uint64]bool{hash(0, row): true, hash(1, row): true, hash(0, []float64{1, 3, 2}): true, hash(0, []float64{1, 2, 4}): true, hash(0, []float64{0, 2, 3}): true}
	if len(seen) != 5 {
		t.Errorf("5 rows and seeds have %d hashes", len(seen))
	}
}

// TestEmptyCluster checks that a centre without rows keeps its place.
func TestEmptyCluster(t *testing.T) {
	s := state{Phase: moving, Centres: []float64{1, 1, 50, 60, 9, 9}, Scales: []scale{40, 40}, Spread: 40, Columns: []string{"x", "y"}}
	r := rows{names: s.Columns, values: []float64{1, 2, 2, 1, 9, 8}}
	total, err := s.assign(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	step, err := next(t.Context(), Params{K: 3, Rounds: 10}, s, total, 2)
	if err != nil || step.Done {
		t.Fatal(step.Done, err)
	}
	if got := fmt.Sprint(step.State.Centres, step.State.Sizes, step.Value); got != "[1.5 1.5 50 60 9 8] [2 0 1] 3" {
		t.Errorf("got %s", got)
	}
}

// TestTinyDistances draws centres whose squared distances are 0 because they are so small.
func TestTinyDistances(t *testing.T) {
	sample := []sampled{{Hash: 1, Count: 1, Row: []float64{1e-200}}, {Hash: 2, Count: 1, Row: []float64{2e-200}}, {Hash: 3, Count: 1, Row: []float64{0}}}
	random := uint64(0)
	if centres := sorted(draw(sample, 3, &random), 1); fmt.Sprint(centres) != "[0 1e-200 2e-200]" {
		t.Errorf("centres %v", centres)
	}
}

// BenchmarkAssign assigns 100,000 rows of 16 columns to 64 centres.
func BenchmarkAssign(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	s := state{Scales: make([]scale, 16), Spread: 40}
	r := rows{names: make([]string, 16)}
	for range 64 * 16 {
		s.Centres = append(s.Centres, random.Float64())
	}
	for range 100_000 * 16 {
		r.values = append(r.values, random.Float64())
	}
	for j := range s.Scales {
		s.Scales[j] = 62
	}
	for b.Loop() {
		if _, err := s.assign(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
