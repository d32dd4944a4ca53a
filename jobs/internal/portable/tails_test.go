package portable

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func within(got, want, relative float64) bool { return math.Abs(got-want) <= relative*math.Abs(want) }

// TestTailsKnownValues uses values of mpmath with 40 digits: erfc(z/√2), and betainc(f/2, 1/2, 0, f/(f+t²),
// regularized=True).
func TestTailsKnownValues(t *testing.T) {
	for z, want := range map[float64]float64{
		0.1: 0.92034432544594204, 1.5: 0.13361440253771613, 1.9999: 0.045511063169534374, 2.0001: 0.045489466782821117, 5: 5.7330314375838782e-7, 17.8: 7.0668875508275983e-71, 37: 1.1451142445049154e-299,
	} {
		if got := NormalTails(z); !within(got, want, 1e-12) {
			t.Errorf("NormalTails(%v) = %.17g, want %.17g", z, got, want)
		}
	}
	for _, c := range [][3]float64{
		{0.01, 1, 0.99363401447018349},
		{0.7, 1, 0.61119977557157042},
		{2.5, 1, 0.2422378831816868},
		{8, 1, 0.079166848321131084},
		{30, 1, 0.021212804811070847},
		{0.01, 3, 0.99264911141285198},
		{0.7, 3, 0.53432699830476363},
		{2.5, 3, 0.087706647008065547},
		{8, 3, 0.0040765775877854682},
		{30, 3, 8.1352804271639595e-5},
		{0.01, 9, 0.99223944553632526},
		{0.7, 9, 0.50161903921614517},
		{2.5, 9, 0.033861827682985739},
		{8, 9, 2.2134816809400154e-5},
		{30, 9, 2.4837047041582624e-10},
		{0.01, 29, 0.99208976480322495},
		{0.7, 29, 0.48950514861448366},
		{2.5, 29, 0.018325344338426077},
		{8, 29, 8.0125756496317027e-9},
		{30, 29, 2.1977448450988051e-23},
		{0.01, 57, 0.99205620563046928},
		{0.7, 57, 0.48677456910575069},
		{2.5, 57, 0.01532113710194719},
		{8, 57, 6.8725480324837307e-11},
		{30, 57, 1.3225460699879725e-36},
		{0.01, 1000, 0.99202328193218729},
		{0.7, 1000, 0.48409011399260234},
		{2.5, 1000, 0.012578567801090797},
		{8, 1000, 3.4266614823914744e-15},
		{30, 1000, 1.5374687444043482e-141},
		{0.01, 9999979, 0.99202128757021832},
		{0.7, 9999979, 0.48392732073022254},
		{2.5, 9999979, 0.012419346536611829},
		{8, 9999979, 1.2443234805565599e-15},
		{30, 9999979, 1.0014614117584828e-197},
	} {
		if got := StudentTails(c[0], c[1]); !within(got, c[2], 1e-11) {
			t.Errorf("StudentTails(%v, %v) = %.17g, want %.17g", c[0], c[1], got, c[2])
		}
	}
	if NormalTails(0) != 1 || NormalTails(50) != 0 || StudentTails(0, 3) != 1 || StudentTails(math.Inf(1), 3) != 0 {
		t.Error("the tails beyond 0 and infinity are wrong")
	}
}

// TestStudentTailsClosedForms compares with the closed forms for 1 and 2 degrees of freedom, and with the normal
// distribution for many.
func TestStudentTailsClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(1e-3, 6), rapid.Float64Range(1, 1e5)).Draw(t, "t")
		if got, want := StudentTails(x, 1), 2*math.Atan(1/x)/math.Pi; !within(got, want, 1e-11) {
			t.Fatalf("StudentTails(%v, 1) = %v, want %v", x, got, want)
		}
		root := math.Sqrt(2 + x*x)
		if got, want := StudentTails(x, 2), 2/(root*(root+x)); !within(got, want, 1e-11) {
			t.Fatalf("StudentTails(%v, 2) = %v, want %v", x, got, want)
		}
		if z := math.Mod(x, 6); !within(StudentTails(z, 1e12), NormalTails(z), 1e-8) {
			t.Fatalf("StudentTails(%v, 1e12) = %v, NormalTails is %v", z, StudentTails(z, 1e12), NormalTails(z))
		}
	})
}

func TestNormalTails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Float64Range(-37, 37).Draw(t, "z")
		if got, want := NormalTails(z), math.Erfc(math.Abs(z)/math.Sqrt2); !within(got, want, 1e-12) {
			t.Fatalf("NormalTails(%v) = %v, want %v", z, got, want)
		}
	})
}

func TestLog1p(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Float64Range(-0.999, 1), rapid.Float64Range(-1e-10, 1e-10), rapid.Float64Range(0, 1e300)).Draw(t, "x")
		if got, want := Log1p(x), math.Log1p(x); !within(got, want, 2e-15) {
			t.Fatalf("Log1p(%v) = %v, want %v", x, got, want)
		}
	})
	if Log1p(math.Inf(1)) != math.Inf(1) {
		t.Error("Log1p of infinity is finite")
	}
}

func TestLogFactorial(t *testing.T) {
	for n := range 400 {
		want, _ := math.Lgamma(float64(n) + 1)
		if got := LogFactorial(float64(n)); math.Abs(got-want) > 4e-15*math.Max(1, want) {
			t.Errorf("LogFactorial(%d) = %.17g, want %.17g", n, got, want)
		}
	}
	if got, want := LogFactorial(1e15), 3.353877639491066e16; !within(got, want, 1e-14) {
		t.Errorf("LogFactorial(1e15) = %v, want %v", got, want)
	}
}
