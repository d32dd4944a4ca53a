package scan

import (
	"context"
	"math"
	"slices"
)

// selectFirst drops groups that are above the limit, so that few groups remain to be sorted. It selects by the prefixes
// of the first column, and then by the next columns among the groups whose values of the columns before are equal to those of the
// last group of the result.
func (g *groups) selectFirst(ctx context.Context, orders []rowOrder) error {
	if g.limit == 0 || g.limit > uint64(len(g.order)) || g.offset > uint64(len(g.order)) {
		return nil
	}
	most := int(g.limit + g.offset)
	tied := g.order      // groups whose values of the columns before are equal
	var certain []placed // groups before the tied ones
	for _, o := range orders {
		if len(certain)+len(tied) <= 2*most {
			break
		}
		if err := g.setPrefixes(ctx, tied, o); err != nil {
			return err
		}
		last := nth(tied, most-len(certain), o.Descending)
		rest := tied[:0]
		for _, p := range tied {
			switch {
			case p.prefix == last:
				rest = append(rest, p)
			case p.prefix < last != o.Descending:
				certain = append(certain, p)
			}
		}
		if tied = rest; last&prefixExact == 0 {
			break
		}
	}
	g.order = append(certain, tied...)
	return nil
}

// nth returns the n-th prefix of groups in a sort order. There must be at least n groups, and n must be at least 1.
func nth(list []placed, n int, descending bool) uint64 {
	flip := uint64(0)
	if descending {
		flip = math.MaxUint64
	}
	best, last := make([]uint64, 0, 2*n), uint64(math.MaxUint64)
	for _, p := range list {
		prefix := p.prefix ^ flip
		if prefix > last {
			continue
		}
		if best = append(best, prefix); len(best) == 2*n {
			slices.Sort(best)
			best = best[:n]
			last = best[n-1]
		}
	}
	slices.Sort(best)
	return best[n-1] ^ flip
}
