package kmeans

// Nearest returns the index of the centre that is nearest to a row, and the square of the distance. Of equally near
// centres it returns the first. Centres are one after the other, and each has as many values as the row. There must
// be at least one centre.
//
// Four centres are compared at the same time, because additions of one sum wait for one another. Products are rounded
// before they are added, so that all architectures compute the same bits.
func Nearest(row, centres []float64) (index int, squared float64) {
	width := len(row)
	at, count := 0, len(centres)/width
	best := -1
	for ; at+4 <= count; at += 4 {
		group := centres[at*width : (at+4)*width]
		a, b, c, d := group[:width], group[width:2*width], group[2*width:3*width], group[3*width:4*width]
		a, b, c, d = a[:len(row)], b[:len(row)], c[:len(row)], d[:len(row)]
		var sa, sb, sc, sd float64
		for j, x := range row {
			da, db, dc, dd := x-a[j], x-b[j], x-c[j], x-d[j]
			sa += float64(da * da)
			sb += float64(db * db)
			sc += float64(dc * dc)
			sd += float64(dd * dd)
		}
		if best < 0 || sa < squared {
			best, squared = at, sa
		}
		if sb < squared {
			best, squared = at+1, sb
		}
		if sc < squared {
			best, squared = at+2, sc
		}
		if sd < squared {
			best, squared = at+3, sd
		}
	}
	for ; at < count; at++ {
		if s := distance(row, centres[at*width:(at+1)*width]); best < 0 || s < squared {
			best, squared = at, s
		}
	}
	return best, squared
}

// distance returns the square of the distance of two rows.
func distance(a, b []float64) (squared float64) {
	b = b[:len(a)]
	for j, x := range a {
		d := x - b[j]
		squared += float64(d * d)
	}
	return squared
}
