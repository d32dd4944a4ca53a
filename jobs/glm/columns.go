package glm

import (
	"fmt"
	"math"
)

// column says how the values of a predictor are scaled: (x - Centre) / 2^Exponent is at most 1 in magnitude. Scaled
// columns have small numbers in X'WX, whose rounding errors are small in relation to those of X.
type column struct {
	Centre   float64
	Exponent int
}

// extremes are the least and the greatest value of a column.
type extremes struct{ Least, Greatest float64 }

// survey computes what the first round learns: the extremes and exact sums of the columns and of the target.
type survey struct {
	family  *family
	rows    uint64
	columns []extremes // the last one is that of the target
	sums    *sums      // of the columns and of the target, of the deviance if all coefficients are 0, and of the constants of the likelihood
}

func newSurvey(f *family, columns int) *survey {
	s := &survey{family: f, columns: make([]extremes, columns+1), sums: newSums(columns + 3)}
	for i := range s.columns {
		s.columns[i] = extremes{math.MaxFloat64, -math.MaxFloat64}
	}
	return s
}

// add adds rows. A row consists of the values of the columns and the target.
func (s *survey) add(rows []float64) {
	width := len(s.columns)
	for ; len(rows) >= width; rows = rows[width:] {
		if s.rows++; s.rows%maxAdded == 0 {
			s.sums.normalize()
		}
		for i, v := range rows[:width] {
			e := &s.columns[i]
			e.Least, e.Greatest = min(e.Least, v), max(e.Greatest, v)
			s.sums.add(i, v)
		}
		y := rows[width-1]
		_, _, deviance := s.family.at(y, 0)
		s.sums.add(width, deviance)
		s.sums.add(width+1, s.family.constant(y))
	}
}

func (s *survey) end() partial {
	s.sums.normalize()
	return partial{Rows: s.rows, Columns: s.columns, Sums: []*sums{s.sums}}
}

// overview is what all rows say before the first fit.
type overview struct {
	Rows     uint64
	Columns  []column
	Mean     float64 // of the target
	Constant float64 // of -2 log likelihood
	Deviance float64 // if all coefficients are 0
}

// overviewOf computes the overview from the partial of all partitions. It refuses columns whose coefficients cannot be
// computed.
func overviewOf(p Params, total partial) (o overview, err error) {
	predictors := p.predictors()
	target := len(predictors)
	o.Rows = total.Rows
	if n := p.coefficients(); o.Rows <= uint64(n) {
		return o, fmt.Errorf("the input has %d rows for %d coefficients: want more rows than coefficients", o.Rows, n)
	}
	if e := total.Columns[target]; e.Least == e.Greatest {
		return o, fmt.Errorf("the target %q is %v in all rows, so there is nothing to explain", p.Target, e.Least)
	}
	list := total.Sums[0]
	for i, name := range predictors {
		e := total.Columns[i]
		switch {
		case p.Intercept && e.Least == e.Greatest:
			return o, fmt.Errorf("column %q is %v in all rows, so its coefficient and the intercept cannot be told apart: leave it out", name, e.Least)
		case e.Least == 0 && e.Greatest == 0:
			return o, fmt.Errorf("column %q is 0 in all rows, so it has no coefficient: leave it out", name)
		}
		var c column
		if p.Intercept {
			c.Centre = list.mean(i, o.Rows)
		}
		width := max(e.Greatest-c.Centre, c.Centre-e.Least)
		if width < 1/largest {
			return o, fmt.Errorf("the values of column %q are at most %g from their mean: multiply them by a constant", name, width)
		}
		c.Exponent = ceiling(width)
		o.Columns = append(o.Columns, c)
	}
	o.Mean, o.Deviance, o.Constant = list.mean(target, o.Rows), list.float(target+1), list.float(target+2)
	return o, nil
}
