package scan

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
)

// collect lists the groups of the result: all groups in the order of the run, or, if the result has a limit far below
// their number, the first groups of each part of the run, in any order. It also sets the types and the notes of columns,
// as describe does. A goroutine reads each part.
func (g *groups) collect(ctx context.Context, columns []Column, orders []rowOrder) error {
	ends, err := g.run.cut(g.parts)
	if err != nil {
		return err
	}
	count := ends[len(ends)-1].groups
	most := g.limit + g.offset
	selects := g.limit > 0 && most >= g.limit && most < uint64(count/8) // otherwise a selection would need more memory than the order
	if !selects {
		g.order = make([]placed, 0, count) // the exact capacity, because the slice may need much memory
	}
	parts, described := make([]collector, len(ends)), slices.Clone(columns)
	begin := boundary{}
	var wait sync.WaitGroup
	for i, end := range ends {
		p := &parts[i]
		p.groups, p.columns = *g, slices.Clone(described)
		p.scratch = newScratch(g.aggregates)
		if selects {
			p.first = &selector{groups: &p.groups, orders: orders, most: int(most)}
		} else {
			p.order = g.order[begin.groups:begin.groups:end.groups]
		}
		from, to := begin.offset, end.offset
		wait.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					p.err = &jobs.PanicError{Value: v, Stack: debug.Stack()}
				}
			}()
			p.err = p.collect(ctx, from, to)
		})
		begin = end
	}
	wait.Wait()
	for _, p := range parts {
		if p.err != nil {
			return p.err
		}
		g.order = append(g.order, p.order...)
		for i, c := range p.columns {
			if c != described[i] {
				columns[i] = c
			}
		}
	}
	return nil
}

// collector collects the groups of a part of the run.
type collector struct {
	groups
	columns []Column
	first   *selector // nil if all groups are listed
	err     error
}

// collect collects the groups between two offsets of the run.
func (p *collector) collect(ctx context.Context, from, to int) (err error) {
	if p.having != nil {
		if p.keeps, err = p.having.open(); err != nil {
			return err
		}
	}
	describes := slices.ContainsFunc(p.aggregates, func(a aggregate) bool { return a.takes == numbersOrTexts || a.approximates() })
	c := cursor{rest: p.run[from:to]} // outside of the loop, which would copy it for each group
	for {
		if err := cmp.Or(ctx.Err(), c.next()); err != nil {
			return err
		}
		if c.done() {
			break
		}
		at := to - len(c.here)
		if ok, err := p.selects(at); err != nil {
			return err
		} else if !ok {
			continue
		}
		if describes {
			if err := p.describe(p.columns[len(p.by):], c.states); err != nil {
				return err
			}
		}
		if p.first == nil {
			p.order = append(p.order, placed{at: at})
		} else if err := p.first.add(&c, at); err != nil {
			return err
		}
	}
	if p.first != nil {
		for _, c := range p.first.first {
			p.order = append(p.order, placed{at: c.at})
		}
	}
	return nil
}
