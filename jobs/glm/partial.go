package glm

// partial is the result of a range of partitions in one round.
type partial struct {
	Rows    uint64
	Bad     uint64     // rows whose deviance is not finite
	Columns []extremes // of the first round
	Sums    []*sums
}

// merge merges the partials of two ranges. It changes the left one.
func merge(left, right partial) (partial, error) {
	left.Rows += right.Rows
	left.Bad += right.Bad
	for i, e := range right.Columns {
		at := &left.Columns[i]
		at.Least, at.Greatest = min(at.Least, e.Least), max(at.Greatest, e.Greatest)
	}
	for i, s := range right.Sums {
		left.Sums[i].merge(s)
	}
	return left, nil
}
