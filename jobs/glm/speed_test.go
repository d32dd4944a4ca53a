package glm

import (
	"math"
	"math/rand/v2"
	"testing"
)

// simulated returns rows with normal columns and a target of a family, and the true coefficients.
func simulated(family string, rows, columns int) (list []float64) {
	r := rand.New(rand.NewPCG(1, 2))
	for range rows {
		eta := 0.5
		for j := range columns {
			x := r.NormFloat64()
			list = append(list, x)
			eta += x * 0.1 * float64(j%3-1)
		}
		switch family {
		case "linear":
			list = append(list, eta+r.NormFloat64())
		case "logistic":
			y := 0.0
			if r.Float64() < 1/(1+math.Exp(-eta)) {
				y = 1
			}
			list = append(list, y)
		case "poisson":
			list = append(list, poissonNumber(r, math.Exp(eta)))
		}
	}
	return list
}

// poissonNumber returns a number with Poisson's distribution.
func poissonNumber(r *rand.Rand, mean float64) (count float64) {
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		count++
	}
	return count
}

// plainSums is the loop that one writes without a thought of the order of sums: it adds X'WX, X'(y-μ) and the
// deviance of a logistic model.
func plainSums(rows, beta []float64, information [][]float64, score []float64) (deviance float64) {
	n := len(beta)
	x := make([]float64, n)
	x[0] = 1
	for ; len(rows) >= n; rows = rows[n:] {
		copy(x[1:], rows[:n-1])
		y, eta := rows[n-1], 0.0
		for j, v := range x {
			eta += beta[j] * v
		}
		mean := 1 / (1 + math.Exp(-eta))
		weight, residual := mean*(1-mean), y-mean
		if y == 1 {
			deviance -= 2 * math.Log(mean)
		} else {
			deviance -= 2 * math.Log(1-mean)
		}
		for j, v := range x {
			score[j] += residual * v
			a, list := weight*v, information[j]
			for k, u := range x[:j+1] {
				list[k] += a * u
			}
		}
	}
	return deviance
}

// BenchmarkRound compares a round with a plain loop. One operation is a row of 20 columns.
func BenchmarkRound(b *testing.B) {
	const columns, count = 20, 50_000
	rows := simulated("logistic", count, columns)
	beta := make([]float64, columns+1)
	for j := range beta {
		beta[j] = 0.1 * float64((j+1)%3-1)
	}
	b.Run("plain", func(b *testing.B) {
		var information [][]float64
		for j := range beta {
			information = append(information, make([]float64, j+1))
		}
		score := make([]float64, len(beta))
		for done := 0; done < b.N; done += count {
			plainSums(rows[:min(count, b.N-done)*(columns+1)], beta, information, score)
		}
	})
	b.Run("exact", func(b *testing.B) {
		for done := 0; done < b.N; done += count {
			p := newPass(familyOf("logistic"), make([]column, columns), beta)
			p.add(rows[:min(count, b.N-done)*(columns+1)])
			p.end()
		}
	})
}
