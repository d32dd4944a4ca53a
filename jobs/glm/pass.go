package glm

// pass computes the sums of one round over rows with the same coefficients: the information X'WX, the score X'(y-μ)
// and the deviance. The sums do not depend on the order of the rows.
type pass struct {
	family  *family
	centres []float64 // of the columns
	scales  []float64 // of the columns: powers of two
	beta    []float64
	shift   int // index of the first column's coefficient: 1 after an intercept, otherwise 0

	information, score *bins
	deviance           *sums
	rows, bad          uint64

	x       []float64 // the scaled rows of a block
	weights []float64 // the weights of the rows in x, in units of their bins
	block   int       // number of rows in x
}

// blockRows is the number of rows that wait for others with a weight of the same size.
const blockRows = 256

func newPass(f *family, columns []column, beta []float64) *pass {
	p := &pass{family: f, beta: beta, shift: len(beta) - len(columns)}
	for _, c := range columns {
		p.centres, p.scales = append(p.centres, c.Centre), append(p.scales, power(-c.Exponent))
	}
	n := len(beta)
	p.information, p.score, p.deviance = newBins(n*(n+1)/2), newBins(n), newSums(1)
	p.x, p.weights = make([]float64, blockRows*n), make([]float64, blockRows)
	return p
}

// add adds rows. A row consists of the values of the columns and the target.
func (p *pass) add(rows []float64) {
	width := len(p.centres) + 1
	for ; len(rows) >= width; rows = rows[width:] {
		if p.block == blockRows {
			p.endBlock()
		}
		if p.rows%maxAdded == maxAdded-1 {
			p.information.total.normalize()
			p.score.total.normalize()
			p.deviance.normalize()
		}
		p.addRow(rows[:width])
	}
}

func (p *pass) addRow(row []float64) {
	n := len(p.beta)
	x := p.x[p.block*n:][:n]
	eta := p.scale(x, row)
	weight, residual, deviance := p.family.at(row[len(row)-1], eta)
	p.rows++
	if !finite(deviance) {
		p.bad++
		return
	}
	p.deviance.add(0, deviance)
	if !negligible(residual) {
		at := p.score.of(residual)
		factor := residual * at.scale
		list := at.sums[:len(x)]
		for j, v := range x {
			list[j] += int64(factor * v)
		}
	}
	if !negligible(weight) {
		at := p.information.of(weight)
		p.weights[p.block] = weight * at.scale
		at.waiting[at.count] = p.block
		p.block++
		if at.count++; at.count == len(at.waiting) {
			p.addFour(at.sums, at.waiting)
			at.count = 0
		}
	}
}

// scale sets x to the scaled values of a row, and returns the linear predictor.
func (p *pass) scale(x, row []float64) float64 {
	var even, odd float64 // two sums, because each addition waits for the one before it
	if p.shift == 1 {
		x[0], even = 1, p.beta[0]
	}
	beta, scaled := p.beta[p.shift:], x[p.shift:]
	row = row[:len(p.centres)]
	scaled, beta, centres, scales := scaled[:len(row)], beta[:len(row)], p.centres[:len(row)], p.scales[:len(row)]
	for j, v := range row {
		v = (v - centres[j]) * scales[j]
		scaled[j] = v
		even, odd = odd, even+float64(beta[j]*v)
	}
	return even + odd
}

// end returns the sums of the rows.
func (p *pass) end() partial {
	p.endBlock()
	p.deviance.normalize()
	return partial{Rows: p.rows, Bad: p.bad, Sums: []*sums{p.information.end(), p.score.end(), p.deviance}}
}

// endBlock adds the rows that wait.
func (p *pass) endBlock() {
	for _, at := range p.information.used {
		for _, i := range at.waiting[:at.count] {
			p.addProducts(at.sums, i)
		}
		at.count = 0
	}
	p.block = 0
}

// addProducts adds the products of one row.
func (p *pass) addProducts(list []int64, i int) {
	n := len(p.beta)
	x, w := p.x[i*n:][:n], p.weights[i]
	for j := range x {
		a := w * x[j]
		sums := list[:j+1]
		list = list[j+1:]
		for k, v := range x[:len(sums)] {
			sums[k] += int64(a * v)
		}
	}
}

// addFour adds the products of four rows of one bin. It needs a quarter of the loads and stores of addProducts.
func (p *pass) addFour(list []int64, rows [4]int) {
	n := len(p.beta)
	x0, x1, x2, x3 := p.x[rows[0]*n:][:n], p.x[rows[1]*n:][:n], p.x[rows[2]*n:][:n], p.x[rows[3]*n:][:n]
	w0, w1, w2, w3 := p.weights[rows[0]], p.weights[rows[1]], p.weights[rows[2]], p.weights[rows[3]]
	for j := range x0 {
		a0, a1, a2, a3 := w0*x0[j], w1*x1[j], w2*x2[j], w3*x3[j]
		sums := list[:j+1]
		list = list[j+1:]
		y0, y1, y2, y3 := x0[:len(sums)], x1[:len(sums)], x2[:len(sums)], x3[:len(sums)]
		for k := range sums {
			sums[k] += int64(a0*y0[k]) + int64(a1*y1[k]) + int64(a2*y2[k]) + int64(a3*y3[k])
		}
	}
}
