package scan

import (
	"cmp"
	"context"
	"runtime/debug"
	"sync"

	"github.com/bellwether-compute/bellwether/jobs"
)

// collect lists the groups of the result: all groups in the order of the run, or, if the result has a limit far below
// their number, the first groups of each part of the run, in any order. It returns the notes of the groups. A goroutine
// reads each part.
func (g *groups) collect(ctx context.Context, orders []rowOrder) (n notes, err error) {
	ends, err := g.run.cut(g.parts)
	if err != nil {
		return nil, err
	}
	count := ends[len(ends)-1].groups
	most := g.limit + g.offset
	selects := g.limit > 0 && most >= g.limit && most < uint64(count/8) // otherwise a selection would need more memory than the order
	if !selects {
		g.order = make([]placed, 0, count) // the exact capacity, because the slice may need much memory
	}
	parts := make([]collector, len(ends))
	begin := boundary{}
	var wait sync.WaitGroup
	for i, end := range ends {
		p := &parts[i]
		p.groups, p.notes = *g, make(notes, len(g.aggregates))
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
			return nil, p.err
		}
		g.order, n = append(g.order, p.order...), n.merge(p.notes)
	}
	return n, nil
}

// collector collects the groups of a part of the run.
type collector struct {
	groups
	notes notes
	first *selector // nil if all groups are listed
	err   error
}

// collect collects the groups between two offsets of the run.
func (p *collector) collect(ctx context.Context, from, to int) (err error) {
	if p.having != nil {
		if p.keeps, err = p.having.open(); err != nil {
			return err
		}
	}
	noted := p.noted()
	c := cursor{rest: p.run[from:to]} // outside of the loop, which would copy it for each group
	for {
		if err := cmp.Or(ctx.Err(), c.next()); err != nil {
			return err
		}
		if c.done() {
			break
		}
		at := to - len(c.here)
		ok, err := p.selects(at)
		if err != nil {
			return err
		}
		if noted && (ok || p.output) {
			if err := p.notes.read(p.aggregates, p.scratch, c.states); err != nil {
				return err
			}
		}
		if !ok {
			continue
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
