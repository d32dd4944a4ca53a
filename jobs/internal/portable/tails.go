package portable

import "math"

// Log1p returns log(1+x), for x above -1. It has a small relative error also for small x (Kahan's method; Goldberg,
// What every computer scientist should know about floating-point arithmetic, 1991, theorem 4).
func Log1p(x float64) float64 {
	u := 1 + x
	if u == 1 || math.IsInf(u, 1) {
		return x
	}
	return float64(Log(u)*x) / (u - 1)
}

// LogFactorial returns log(n!), for a whole number n of at least 0.
func LogFactorial(n float64) float64 {
	const half = 0.91893853320467274178 // log(2π)/2
	if n < 20 {
		product := 1.0
		for k := 2.0; k <= n; k++ {
			product = float64(product * k)
		}
		return Log(product)
	}
	// Stirling's series (Abramowitz, Stegun, Handbook of mathematical functions, 6.1.41). The first omitted term is
	// below 1e-15.
	s := 1 / float64(n*n)
	series := (1.0/12 - float64(s*(1.0/360-float64(s*(1.0/1260-float64(s*(1.0/1680))))))) / n
	return float64((n+0.5)*Log(n)) - n + half + series
}

// NormalTails returns the probability that a standard normal number is at least |z| away from 0. Its relative error
// is below 1e-12.
func NormalTails(z float64) float64 {
	z = math.Abs(z)
	if z > 40 {
		return 0
	}
	density := float64(Exp(-float64(z*z)/2) * 0.39894228040143267794) // 1/√(2π)
	if z < 2 {
		// Abramowitz, Stegun, 26.2.11.
		term, sum := z, z
		for k := 3.0; term > 1e-18; k += 2 {
			term = float64(term*float64(z*z)) / k
			sum += term
		}
		return 1 - float64(2*float64(density*sum))
	}
	// Abramowitz, Stegun, 26.2.14.
	fraction := z
	for k := 200.0; k >= 1; k-- {
		fraction = z + k/fraction
	}
	return 2 * density / fraction
}

// StudentTails returns the probability that a number with Student's distribution is at least |t| away from 0, for a
// number of degrees of freedom of at least 1. Its relative error is below 1e-11.
func StudentTails(t, freedom float64) float64 {
	if math.IsInf(t, 0) {
		return 0
	}
	a, square := freedom/2, float64(t*t)/freedom
	if freedom > 10_000 {
		return NormalTails(normalDeviate(float64((freedom-0.5)*Log1p(square)), freedom-0.5))
	}
	// The probability is the incomplete beta function I(x; a, ½) at x = 1/(1+square) (Abramowitz, Stegun, 26.7.1).
	x, y := 1/(1+square), square/(1+square)
	// front is x^a y^½ / B(a, ½), and B(a, ½) = √π Γ(a)/Γ(a+½).
	front := float64(Exp(-float64(a*Log1p(square)))*math.Sqrt(y)) * 0.56418958354775628695 // 1/√π
	front = float64(front * gammaRatio(a))
	if x < (a+1)/(a+2.5) {
		return float64(front*betaFraction(x, a, 0.5)) / a
	}
	return 1 - float64(front*betaFraction(y, 0.5, a))/0.5
}

// normalDeviate returns the z whose normal tails are those of Student's distribution, where y is (n-½)·log(1+t²/n)
// for n degrees of freedom and a is n-½ (Hill, Algorithm 395: Student's t-distribution, 1970).
func normalDeviate(y, a float64) float64 {
	b := 48 * float64(a*a)
	top := -85.5 + float64(y*(-24+float64(y*(-3.3-float64(0.4*y)))))
	bottom := 100 + b + float64(0.8*float64(y*y))
	return float64((1 + (3+y+top/bottom)/b) * math.Sqrt(y))
}

// gammaRatio returns Γ(a+½)/Γ(a), for a of at least ½.
func gammaRatio(a float64) float64 {
	ratio := 1.0
	for ; a < 30; a++ {
		ratio = float64(ratio*a) / (a + 0.5)
	}
	// Tricomi, Erdélyi, The asymptotic expansion of a ratio of gamma functions, 1951, for the logarithm of the ratio.
	s := 1 / a
	s2 := float64(s * s)
	series := float64(s * (-1.0/8 + float64(s2*(1.0/192-float64(s2*(1.0/640-float64(s2*(17.0/14336))))))))
	return float64(float64(ratio*math.Sqrt(a)) * Exp(series))
}

// betaFraction returns the continued fraction of the incomplete beta function (Abramowitz, Stegun, 26.5.8), by Lentz'
// method.
func betaFraction(x, a, b float64) float64 {
	const smallest = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < smallest {
			return smallest
		}
		return v
	}
	c, d := 1.0, 1/away(1-float64((a+b)*x)/(a+1))
	h := d
	for m := 1.0; m < 1e6; m++ {
		even := float64(float64(m*(b-m))*x) / float64((a+2*m-1)*(a+2*m))
		d = 1 / away(1+float64(even*d))
		c = away(1 + even/c)
		h = float64(h * float64(d*c))
		odd := -float64(float64((a+m)*(a+b+m))*x) / float64((a+2*m)*(a+2*m+1))
		d = 1 / away(1+float64(odd*d))
		c = away(1 + odd/c)
		change := float64(d * c)
		h = float64(h * change)
		if math.Abs(change-1) < 1e-16 {
			break
		}
	}
	return h
}
