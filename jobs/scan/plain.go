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

// add adds the number m · 10^-scale. It returns false if a plain cannot contain the number.
func (p *plain) add(m int64, scale int) bool {
	if scale != p.scale || uint64(m+maxPlain) > 2*maxPlain || p.count-1 >= maxPlainCount-1 {
		return p.addSlowly(m, scale)
	}
	p.count++
	p.sum += m
	p.min, p.max = min(p.min, m), max(p.max, m)
	return true
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
