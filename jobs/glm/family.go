package glm

import (
	"math"

	"github.com/bellwether-compute/bellwether/jobs/internal/portable"
)

// family is a distribution of the target with its canonical link. The mean of a target is the inverse link of the
// linear predictor η = Σ β·x.
type family struct {
	name, link string
	statistic  string // t if the dispersion is estimated, z if it is 1
	// at returns what a row contributes for a target y and a linear predictor: its weight, which is the derivative of
	// the mean by η, the difference of the target and its mean, and its deviance. A deviance that is not finite says
	// that η is too large.
	at func(y, eta float64) (weight, residual, deviance float64)
	// refuse says what a target should be, if y is not a target.
	refuse func(y float64) (want string)
	// linked returns the linear predictor of a mean.
	linked func(mean float64) float64
	// constant returns the part of -2 log likelihood of a row that is neither in its deviance nor depends on a parameter.
	constant func(y float64) float64
}

// families are the values of the parameter family.
var families = []*family{
	{
		name: "linear", link: "identity", statistic: "t",
		at: func(y, eta float64) (_, _, _ float64) {
			r := y - eta
			return 1, r, float64(r * r)
		},
		refuse:   func(float64) string { return "" },
		linked:   func(mean float64) float64 { return mean },
		constant: func(float64) float64 { return 0 },
	},
	{
		name: "logistic", link: "logit", statistic: "z", at: bernoulli,
		refuse: func(y float64) string {
			if y == 0 || y == 1 {
				return ""
			}
			return "0 or 1"
		},
		linked:   func(mean float64) float64 { return portable.Log(mean / (1 - mean)) },
		constant: func(float64) float64 { return 0 },
	},
	{
		name: "poisson", link: "log", statistic: "z", at: poisson,
		refuse: func(y float64) string {
			if y >= 0 && y == math.Trunc(y) && y <= maxCount {
				return ""
			}
			return "a count: a whole number from 0 to 2^53"
		},
		linked:   portable.Log,
		constant: saturated,
	},
}

// maxCount is the largest count up to which a float64 represents all whole numbers.
const maxCount = 1 << 53

func familyOf(name string) *family {
	for _, f := range families {
		if f.name == name {
			return f
		}
	}
	return families[0] // the parameter's tag allows no other name
}

// bernoulli computes the mean's distance from the target without a cancellation, so that small distances keep all digits.
func bernoulli(y, eta float64) (weight, residual, deviance float64) {
	towards := eta // positive if the mean is nearer to the target than ½
	if y == 0 {
		towards = -eta
	}
	t := portable.Exp(-math.Abs(eta))
	share := 1 / (1 + t)
	other := float64(t * share)
	weight, deviance = float64(share*other), portable.Log1p(t)
	residual = other
	if towards < 0 {
		residual, deviance = share, deviance-towards
	}
	if y == 0 {
		residual = -residual
	}
	return weight, residual, 2 * deviance
}

func poisson(y, eta float64) (weight, residual, deviance float64) {
	mean := portable.Exp(eta)
	residual = y - mean
	if y == 0 {
		return mean, residual, 2 * mean
	}
	if mean < tiny {
		return mean, residual, math.Inf(1)
	}
	if relative := residual / mean; math.Abs(relative) < 0.5 {
		return mean, residual, 2 * (float64(y*portable.Log1p(relative)) - residual)
	}
	return mean, residual, 2 * (float64(y*(portable.Log(y)-eta)) - residual)
}

// saturated returns -2 log of the probability of a count if its mean is the count: 2 (log y! - y log y + y).
func saturated(y float64) float64 {
	if y == 0 {
		return 0
	}
	return 2 * (portable.LogFactorial(y) - float64(y*portable.Log(y)) + y)
}
