package scan

import (
	"context"

	"github.com/bellwether-compute/bellwether/jobs"
)

// shardRows computes the rows of a shard from its merged groups, without memory for each row.
type shardRows struct {
	groups
	merging *merging
	end     []byte // border at the end of the shard
	notes   notes
	noted   bool
	direct  []direct // states, if the texts of their results are all that is needed of groups; otherwise nil

	fields [][]byte // fields of the current row
	size   int      // size of the fields in bytes
	text   []byte   // texts of the results of the aggregates
	ends   []int    // ends of these texts
	err    error
}

func (f *sharder) rows(n notes, end []byte) (r *shardRows, err error) {
	r = &shardRows{groups: groups{query: f.query, scratch: newScratch(f.aggregates)}, merging: f.merging, end: end, notes: n, noted: f.noted()}
	if f.having != nil {
		r.keeps, err = f.having.open()
	} else if !r.noted {
		r.direct = directOf(r.scratch.states)
	}
	return r, err
}

// next moves to the next row of the result. It returns false after the last one, and after an error.
func (r *shardRows) next(ctx context.Context) bool {
	for r.err == nil {
		ok, err := r.merging.next(ctx, r.end)
		if r.err = err; err != nil || !ok {
			return false
		}
		if ok, r.err = r.set(r.merging.key, r.merging.states); ok {
			return true
		}
	}
	return false
}

// set sets the fields to those of a group, and reports whether the group is in the result.
func (r *shardRows) set(key, states []byte) (bool, error) {
	if r.direct != nil {
		err := r.setDirect(key, states)
		return err == nil, err
	}
	r.scratch.reset()
	if err := r.scratch.read(states); err != nil {
		return false, err
	}
	if r.noted {
		if err := r.notes.add(r.aggregates, r.scratch); err != nil {
			return false, err
		}
	}
	if r.keeps != nil {
		line, err := r.lineOf(key, states)
		if err != nil {
			return false, err
		}
		if ok, err := r.keeps(line); !ok || err != nil {
			return false, err
		}
	}
	r.text, r.ends = r.text[:0], r.ends[:0]
	for i, a := range r.aggregates {
		c, err := r.scratch.states[i].result(0, a)
		if err != nil {
			return false, jobs.Permanent(err)
		}
		r.text = c.append(r.text)
		r.ends = append(r.ends, len(r.text))
	}
	r.setFields(key)
	return true, nil
}

// setDirect sets the fields without decoding the states of the group.
func (r *shardRows) setDirect(key, states []byte) (err error) {
	r.text, r.ends = r.text[:0], r.ends[:0]
	for _, d := range r.direct {
		if r.text, states, err = d.appendResult(r.text, states); err != nil {
			return err
		}
		r.ends = append(r.ends, len(r.text))
	}
	if len(states) > 0 {
		return errStates
	}
	r.setFields(key)
	return nil
}

// setFields sets the fields to those of a key and to the texts of the aggregates.
func (r *shardRows) setFields(key []byte) {
	r.fields = r.fields[:0]
	if len(r.by) == 1 {
		r.fields = append(r.fields, key)
	} else {
		r.fields = append(r.fields, row(key).fields()...)
	}
	begin := 0
	for _, end := range r.ends {
		r.fields = append(r.fields, r.text[begin:end:end])
		begin = end
	}
	r.size = len(key) + len(r.text)
}

// row returns a copy of the current row.
func (r *shardRows) row() (copied row) {
	for _, field := range r.fields {
		copied = appendText(copied, field)
	}
	return copied
}
