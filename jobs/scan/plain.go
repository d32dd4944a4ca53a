package scan

// plain accumulates small numbers of one scale for all aggregates of one column. Plains save most
// of the time of the most common queries. The method table.settle adds plains to the states.
type plain struct {
	count    uint64
	sum      int64
	min, max int64
	scale    int
}

const (
	// maxPlain is the largest absolute value of a mantissa that is added to a plain.
	maxPlain = 1 << 36
	// maxPlainSum is the largest absolute value of the sum of a plain whose scale is increased.
	maxPlainSum = maxPlain * maxPlainCount
	// maxPlainCount is the number of values after which a plain is added to the states, so that the
	// sum stays below 2^63, as the mantissa of a Number does.
	maxPlainCount = 1 << 23
)

// add adds the number m · 10^-scale. It returns false if a plain cannot contain the number. Loops over many rows call the
// parts of add, which are inlined.
func (p *plain) add(m int64, scale int) bool {
	if p.fits(m, scale) {
		p.put(m, scale)
		return true
	}
	return p.addSlowly(m, scale)
}

// unit is the number 10^digits, and the largest absolute value of a mantissa that can be multiplied by it.
type unit struct{ factor, most int64 }

// units are those of the digits by which the scale of a number may be smaller than that of the plain.
var units = func() (list [8]unit) {
	for i, factor := 0, int64(1); i < len(list); i, factor = i+1, factor*10 {
		list[i] = unit{factor, maxPlain / factor}
	}
	return list
}()

// fits reports whether put can add the number m · 10^-scale.
func (p *plain) fits(m int64, scale int) bool {
	digits := uint(p.scale - scale)
	most := units[digits%uint(len(units))].most
	return digits < uint(len(units)) && uint64(m+most) <= uint64(2*most) && p.count-1 < maxPlainCount-1
}

// put adds the number m · 10^-scale.
func (p *plain) put(m int64, scale int) {
	m *= units[uint(p.scale-scale)%uint(len(units))].factor
	p.count++
	p.sum += m
	p.min, p.max = min(p.min, m), max(p.max, m)
}

// addSlowly adds the first number of a plain, or a number of another scale if the scales can be
// made equal.
func (p *plain) addSlowly(m int64, scale int) bool {
	if m > maxPlain || m < -maxPlain || p.count == maxPlainCount {
		return false
	}
	if p.count == 0 {
		*p = plain{1, m, m, m, scale}
		return true
	}
	for ; scale < p.scale; scale++ {
		if m *= 10; m > maxPlain || m < -maxPlain {
			return false
		}
	}
	larger := *p
	for ; larger.scale < scale; larger.scale++ {
		larger.sum, larger.min, larger.max = larger.sum*10, larger.min*10, larger.max*10
		if larger.min < -maxPlain || larger.max > maxPlain || larger.sum > maxPlainSum || larger.sum < -maxPlainSum {
			return false
		}
	}
	*p = larger
	return p.add(m, scale)
}

// plainColumn returns the column of the aggregates if all aggregates are of one column and can be
// computed from plains. For other queries it returns -1.
func plainColumn(all []aggregate, columns []int) int {
	column := -1
	for i, a := range all {
		if !a.plain || column >= 0 && columns[i] >= 0 && columns[i] != column {
			return -1
		}
		column = max(column, columns[i])
	}
	return column
}

// settleGroup adds the plain of a group to the states.
func (t *table) settleGroup(group int) {
	p := &t.plains[group]
	if p.count == 0 {
		return
	}
	for i, s := range t.states {
		s.(bulk).addPlain(group, t.shifts.plain(p, i))
	}
	*p = plain{}
}
