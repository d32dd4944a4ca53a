package portable

import "math"

// The functions Exp and Log are translated from e_exp.c and e_log.c of FreeBSD's msun library. Exp
// and Log round each product before it is added. The copyright notice of the C files is:
//
//	Copyright (C) 2004 by Sun Microsystems, Inc. All rights reserved.
//	Permission to use, copy, modify, and distribute this software is freely
//	granted, provided that this notice is preserved.
//
// The error of Exp and Log is below 1 unit in the last place. math.Frexp, math.Ldexp and
// math.Sqrt are exact on every processor.

const (
	ln2High = 6.93147180369123816490e-01 // the last bits of ln2High are 0, so that products with small integers are exact
	ln2Low  = 1.90821492927058770002e-10
)

// Exp returns e to the power of x.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709.782712893383973096:
		return math.Inf(1)
	case x < -745.13321910194110842:
		return 0
	}
	k := math.Floor(float64(math.Log2E*x) + 0.5)
	high, low := x-float64(k*ln2High), float64(k*ln2Low)
	r := high - low
	t := float64(r * r)
	p := -1.65339022054652515390e-06 + float64(t*4.13813679705723846039e-08)
	p = 6.61375632143793436117e-05 + float64(t*p)
	p = -2.77777777770155933842e-03 + float64(t*p)
	p = 1.66666666666666019037e-01 + float64(t*p)
	c := r - float64(t*p)
	y := 1 - ((low - float64(r*c)/(2-c)) - high)
	if k > -1000 && k < 1000 {
		return float64(y * math.Float64frombits(uint64(int64(k)+1023)<<52)) // computes the same as Ldexp, but faster
	}
	return math.Ldexp(y, int(k))
}

// Pow returns x to the power of y, with the special cases of [math.Pow]. Square roots are exact. For other y that are not whole, the
// relative error is below that of Exp and Log, of math.Pow for the whole part of y, and 2^-52 for each unit of |log x|.
func Pow(x, y float64) float64 {
	whole, part := math.Modf(y)
	if part == 0 || math.Abs(y) == 0.5 || !(x > 0) || math.IsInf(x, 1) || math.IsInf(y, 0) || math.IsNaN(y) {
		return math.Pow(x, y) // multiplies and takes square roots, and adds nothing
	}
	return float64(math.Pow(x, whole) * Exp(float64(part*Log(x))))
}

// Log returns the natural logarithm of x, a positive number.
func Log(x float64) float64 {
	f, exponent := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		exponent--
	}
	f--
	k := float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := 1.818357216161805012e-01 + float64(s4*1.479819860511658591e-01)
	odd = 2.857142874366239149e-01 + float64(s4*odd)
	odd = 6.666666666666735130e-01 + float64(s4*odd)
	even := 2.222219843214978396e-01 + float64(s4*1.531383769920937332e-01)
	even = 3.999999999940941908e-01 + float64(s4*even)
	r := float64(s2*odd) + float64(s4*even)
	half := float64(0.5 * float64(f*f))
	return float64(k*ln2High) - ((half - (float64(s*(half+r)) + float64(k*ln2Low))) - f)
}
