package glm

import "math"

// triangle is the lower triangle of a symmetric matrix or of a triangular matrix, row by row.
type triangle []float64

func (t triangle) at(i, j int) float64 { return t[i*(i+1)/2+j] }

func (t triangle) row(i int) []float64 { return t[i*(i+1)/2:][:i+1] }

// dependent is the share of a diagonal element that must remain after the columns before it explain their part. Rounding
// errors of the elements are about 1e-16 of the diagonal.
const dependent = 1e-12

// factor returns the triangular matrix L with LL' = a, a matrix with n rows (Cholesky). If a column depends on those
// before it, up to rounding errors, factor returns the index of the first such column, with the rows of L before it
// and the first elements of its row. Otherwise the index is n.
func factor(a triangle, n int) (l triangle, first int) {
	l = make(triangle, len(a))
	for i := range n {
		row := l.row(i)
		for j := range i + 1 {
			sum := a.at(i, j)
			other := l.row(j)
			for k := range j {
				sum -= float64(row[k] * other[k])
			}
			if j < i {
				row[j] = sum / other[j]
				continue
			}
			if !(sum > dependent*a.at(i, i)) { // true also if sum is NaN
				return l, i
			}
			row[j] = math.Sqrt(sum)
		}
	}
	return l, n
}

// solve returns x with LL'x = b.
func (l triangle) solve(b []float64) []float64 {
	x := make([]float64, len(b))
	for i, v := range b {
		row := l.row(i)
		for k := range i {
			v -= float64(row[k] * x[k])
		}
		x[i] = v / row[i]
	}
	return l.back(x)
}

// back returns x with L'x = b. It changes b.
func (l triangle) back(b []float64) []float64 {
	for i := len(b) - 1; i >= 0; i-- {
		row := l.row(i)
		b[i] /= row[i]
		for k := range i {
			b[k] -= float64(row[k] * b[i])
		}
	}
	return b
}

// inverse returns the inverse of LL', a matrix with n rows.
func (l triangle) inverse(n int) triangle {
	inverse := make(triangle, len(l))
	for i := range n {
		unit := make([]float64, n)
		unit[i] = 1
		copy(inverse.row(i), l.solve(unit))
	}
	return inverse
}

// combination returns the factors with which the columns before a dependent one add up to it.
func (l triangle) combination(first int) []float64 {
	return l.back(append([]float64(nil), l.row(first)[:first]...))
}
