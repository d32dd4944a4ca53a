package scan

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// collect puts the groups of the result into the order of the run. If the result has a limit, collect leaves out groups
// above the limit, but not necessarily all. It also sets the types and the notes of columns, as describe does. A
// goroutine reads each part of the run.
func (g *groups) collect(ctx context.Context, columns []Column, orders []rowOrder) error {
	ends, err := g.run.cut(g.parts)
	if err != nil {
		return err
	}
	if !g.limited() {
		g.order = make([]placed, 0, ends[len(ends)-1].groups) // the exact capacity, because the slice may need much memory
	}
	parts, described := make([]collector, len(ends)), slices.Clone(columns)
	begin := boundary{}
	var wait sync.WaitGroup
	for i, end := range ends {
		p := &parts[i]
		p.groups, p.columns, p.orders = *g, slices.Clone(described), orders
		p.scratch = newScratch(g.aggregates)
		if !g.limited() {
			p.order = g.order[begin.groups:begin.groups:end.groups]
		}
		from, to := begin.offset, end.offset
		wait.Go(func() {
			defer func() { p.panicked = recover() }()
			p.err = p.collect(ctx, from, to)
		})
		begin = end
	}
	wait.Wait()
	for _, p := range parts {
		if p.panicked != nil {
			panic(p.panicked)
		}
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
	columns  []Column
	orders   []rowOrder
	err      error
	panicked any
}

// collect collects the groups between two offsets of the run.
func (p *collector) collect(ctx context.Context, from, to int) (err error) {
	if p.having != nil {
		if p.keeps, err = p.having.open(); err != nil {
			return err
		}
	}
	var first *selector
	if p.limited() {
		first = &selector{groups: &p.groups, orders: p.orders, most: int(p.limit + p.offset)}
	}
	describes := slices.ContainsFunc(p.aggregates, func(a aggregate) bool { return a.takes == numbersOrTexts || a.approximates() })
	for c := (cursor{rest: p.run[from:to]}); ; {
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
		if first == nil {
			p.order = append(p.order, placed{at: at})
		} else if err := first.add(&c, at); err != nil {
			return err
		}
	}
	if first != nil {
		for _, c := range first.first {
			p.order = append(p.order, placed{at: c.at})
		}
	}
	return nil
}
